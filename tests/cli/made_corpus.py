"""A small log and the verb corpus."""

from __future__ import annotations

import pytest

from interloq.cli.main import main

Captured = pytest.CaptureFixture[str]


def run(capsys: Captured, *arguments: str, code: int = 0) -> str:
    assert main(["corpus", *arguments]) == code
    return capsys.readouterr().out

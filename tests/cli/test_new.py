"""`interloq new` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.cli.main import main


def test_a_new_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "mine", "--language", "ja"]) == 0
    assert "Start with mine/README.md" in capsys.readouterr().out
    assert "tokenizer='char'" in Path("mine", "Makefile").read_text()
    assert main(["new", "mine"]) == 2
    assert capsys.readouterr().err.startswith("interloq: mine already exists")

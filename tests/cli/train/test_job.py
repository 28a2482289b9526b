"""`interloq train NAME` for registered jobs."""

from __future__ import annotations

from typing import Any

import pytest

from interloq.cli.main import main


def test_a_package_that_is_missing_is_named(registered: None, folder: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pairs.jsonl").write_text('{"utterance": "tea ?", "response": "tea"}\n')
    assert main(["train", "mine", "pairs.jsonl", "-o", "out"]) == 2
    assert "'nowhere'" in capsys.readouterr().err

"""The verb train."""

from __future__ import annotations

import pytest

from interloq.cli import train
from interloq.cli.main import main, verb_parser
from interloq.learn.trainable import trainable


def test_a_registered_job_is_a_part_of_train(registered: None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "mine", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "Train something else." in text
    for shown in ("100 % is all (default 7)", "--how {a,b}", "(default: slowly)", "say more", "(default 4)"):
        assert shown in text
    assert "--inner" not in text


def test_only_the_parser_of_the_requested_part_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []
    monkeypatch.setattr(train, "trainable", lambda name: imported.append(name) or trainable(name))  # type: ignore[func-returns-value]
    assert verb_parser("train", "ruber").parse_args(["ruber", "pairs.jsonl", "-o", "out"]).part == "ruber"
    assert imported == ["ruber"]
    verb_parser("train", "vectors")
    assert imported == ["ruber"]
    verb_parser("train", "rubber")  # its message lists all parts
    assert len(imported) > 10

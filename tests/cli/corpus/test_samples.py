"""Continuity samples and ratings by the interlocutor, as a user makes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import write
from interloq.cli.main import main
from interloq.data.records.jsonl import load
from tests.cli.made_runs import run_corpus
from tests.data.sets.made_sets import write_hazumi
from tests.scorers.interlocutor.made_logs import log, of_length

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def config(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    return folder / "config"


def test_continuity(folder: Path, capsys: Captured) -> None:
    write("log.jsonl", log(20), kind="dialogues")
    arguments = ("continuity", "log.jsonl", "--min-conversations", "5", "--by", "own-time", "--compress", "none")
    shown = run_corpus(capsys, *arguments, "-o", "out")
    for words in ("turns per dialogue", "not replied", "users with one class", "user ids: hashed"):
        assert words in shown
    key = (folder / "config" / "interloq" / "user.key").read_text().strip()
    assert key not in "".join(path.read_text() for path in Path("out").iterdir())
    facts = json.loads(run_corpus(capsys, *arguments, "-o", "again", "--json"))
    assert facts["bad_lines"] == 0
    assert load("again/test.jsonl") == load("out/test.jsonl"), "the key is the same, so pseudonyms are too"
    run_corpus(capsys, *arguments, "-o", "kept", "--keep-user-ids", "--context", "1")
    assert {turn.speaker for sample in load("kept/test.jsonl") for turn in sample.context} == {"ann", "bob", "cat"}
    assert {len(sample.context) for sample in load("kept/test.jsonl")} == {1}


def test_cut_dialogues_are_refused_with_one_line(folder: Path, capsys: Captured) -> None:
    write("cut.jsonl", [of_length(f"d{i}", 30) for i in range(40)], kind="dialogues")
    arguments = ["corpus", "continuity", "cut.jsonl", "-o", "out", "--by", "user"]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "40 of 40 dialogues (100%) end after exactly 30 turns" in error
    assert error.count("\n") == 1
    assert main([*arguments, "--cut-ends"]) == 0
    assert "these ends are not valid labels" in capsys.readouterr().out


def test_ratings_of_an_imported_set(folder: Path, capsys: Captured) -> None:
    write_hazumi(folder / "hazumi")
    assert main(["data", "import", "hazumi", "hazumi", "-o", "rated.jsonl"]) == 0
    capsys.readouterr()
    shown = run_corpus(capsys, "ratings", "rated.jsonl", "-o", "out", "--compress", "none")
    assert "replies without interlocutor rating" in shown
    (sample,) = load("out/train.jsonl")
    assert sample.response == "始めます。"
    assert "1902F2001" not in Path("rated.jsonl").read_text()

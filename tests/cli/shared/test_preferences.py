"""Preferences in `interloq rank` and `interloq meta`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq.cli.main import main
from interloq.data.records.jsonl import write
from interloq.records import Preference, Score


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = [Preference(str(i), ("old", "new"), "new" if i else "old", f"r{i}") for i in range(4)]
    write("preferences.jsonl", found, kind="preferences")
    Path("plain.jsonl").write_text("".join(Path("preferences.jsonl").read_text().splitlines(keepends=True)[1:]))
    scores = [Score(str(i), "chrf", float(s == "new"), system=s) for i in range(4) for s in ("old", "new")]
    write("scores.jsonl", scores, kind="scores")


def test_rank_by_preferences(files: None, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("preferences.jsonl", "plain.jsonl"):
        assert main(["rank", name, "--method", "bradley-terry", "--json"]) == 0
        (found,) = json.loads(capsys.readouterr().out)
        assert [one["system"] for one in found["systems"]] == ["new", "old"]
    assert main(["rank", "preferences.jsonl", "--method", "bradley-terry"]) == 0
    assert "overall: 4 preferences of 4 raters on 4 items" in capsys.readouterr().out
    assert main(["rank", "preferences.jsonl"]) == 2
    assert main(["rank", "scores.jsonl"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert "add --method bradley-terry" in first
    assert "no dialogues given" in second


def test_meta_with_preferences(files: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["meta", "scores.jsonl", "--preferences", "preferences.jsonl"]) == 0
    assert "0.750" in capsys.readouterr().out
    assert main(["meta", "scores.jsonl", "--preferences", "preferences.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["share"] == 0.75


@pytest.mark.usefixtures("files")
def test_meta_refuses_options_that_have_no_effect_on_preferences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["meta", "scores.jsonl", "--preferences", "preferences.jsonl", "--aspect", "fluent"]) == 2
    assert "--aspect has no effect beside --preferences" in capsys.readouterr().err


def test_preferences_are_checked_and_converted(files: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "check", "preferences.jsonl"]) == 0
    assert "4 preferences in preferences.jsonl\nsystems: new 4, old 4" in capsys.readouterr().out
    assert main(["data", "convert", "plain.jsonl", "-o", "again.jsonl.gz"]) == 0
    assert main(["rank", "again.jsonl.gz", "--method", "bradley-terry"]) == 0

"""`corpus forget`, as a user runs it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from interloq import write
from interloq.cli.main import main
from interloq.data.records.jsonl import load
from tests.cli.made_runs import run_corpus
from tests.scorers.interlocutor.made_logs import log

Captured = pytest.CaptureFixture[str]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def dialogues(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    write("log.jsonl", log(20), kind="dialogues")
    return folder / "log.jsonl"


def speakers(path: str) -> set[str]:
    return {turn.speaker for dialogue in load(path, kind="dialogues") for turn in dialogue.turns}


def test_confirmation_is_needed(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(["corpus", "forget", "bob", "log.jsonl"]) == 2
    assert "10 records of 'bob' in log.jsonl would be removed for good; add --yes" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert main(["corpus", "forget", "bob", "log.jsonl"]) == 2
    assert speakers("log.jsonl") == {"ann", "bob", "cat"}
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert main(["corpus", "forget", "bob", "log.jsonl"]) == 0
    assert speakers("log.jsonl") == {"ann", "cat"}


def test_a_raw_id_finds_its_pseudonym(capsys: Captured) -> None:
    run_corpus(capsys, "continuity", "log.jsonl", "-o", "out", "--min-conversations", "5", "--compress", "none")
    facts = json.loads(run_corpus(capsys, "forget", "bob", "out", "--yes", "--json"))
    assert facts["removed"] == sum(file["removed"] for file in facts["files"].values()) > 10
    assert any("train again without them" in note for note in facts["not_undone"])
    shown = run_corpus(capsys, "forget", "bob", "out", "--yes", code=1)
    assert "not undone:" in shown


def test_nothing_found_is_reported(capsys: Captured) -> None:
    assert main(["corpus", "forget", "zoe", "log.jsonl"]) == 1
    assert "nothing of the user 'zoe' was found" in capsys.readouterr().err
    assert not Path("config").exists(), "a key made now would be of no use"


def test_models(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    asked = list[tuple[str, str]]()

    def forget_user(folder: str, user: str) -> bool:
        asked.append((folder, user))
        return True

    monkeypatch.setattr("interloq.scorers.interlocutor.model_users.forget_user", forget_user)
    arguments = ["corpus", "forget", "zoe", "log.jsonl", "--model", "a", "--model", "b"]
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(arguments) == 2
    assert "0 records of 'zoe' in log.jsonl and their token in 2 models" in capsys.readouterr().err
    assert main([*arguments, "--yes"]) == 0
    assert asked == [("a", "zoe"), ("b", "zoe")]
    assert "a: the user was removed" in capsys.readouterr().out

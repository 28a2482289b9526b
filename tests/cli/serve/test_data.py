"""`interloq serve export`, `forget`, `backup` and `restore`, as a user runs them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from interloq import Sample, write
from interloq.cli.main import main
from interloq.web.access import joining, people
from interloq.web.database import open_database
from tests.web.conftest import likert_task, replies, stored_task


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    database = open_database(tmp_path / "study.db")
    stored = stored_task(database, likert_task(), replies(2))
    with database.writing() as connection:
        joining.join(connection, people.invite(connection, stored.id, parameter="PID"), {"PID": "ann"})
    database.close()
    return str(tmp_path / "study.db")


def test_export_backup_and_restore(study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, copy, again = (str(tmp_path / name) for name in ("rated.jsonl", "copy.db", "again.db"))
    assert main(["serve", "export", study, "likert", "-o", output]) == 0
    assert main(["serve", "backup", study, copy]) == 0
    assert main(["serve", "restore", copy, again]) == 0
    captured = capsys.readouterr()
    first, *others = captured.out.splitlines()
    assert first == f"{output}: 4 samples with 0 new ratings and 4 ratings from before the study"
    assert "nobody has answered yet" in captured.err
    assert others == [f"{copy}: 1 task", f"{again}: 1 task"]
    assert main(["serve", "restore", copy, again]) == 2
    assert main(["serve", "export", str(tmp_path / "none.db"), "likert", "-o", output]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert ["exists already" in errors[0], "there is no study" in errors[1]] == [True, True]


@pytest.mark.parametrize("end", ["", "-wal"])
def test_an_export_never_overwrites_the_study(study: str, end: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(study).read_bytes()
    assert main(["serve", "export", study, "likert", "-o", study + end]) == 2
    assert "is also an input" in capsys.readouterr().err
    assert Path(study).read_bytes() == before


def test_forget_asks_first(study: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(["serve", "forget", study, "ann"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert main(["serve", "forget", study, "ann", "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"removed": 1, "copies": {}, "not_changed": []}
    assert main(["serve", "forget", study, "ann", "--yes"]) == 1


def test_an_export_does_not_replace_the_file_that_the_task_was_made_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    samples, study = tmp_path / "samples.jsonl", str(tmp_path / "new.db")
    write(samples, [Sample("1", ["Hi."], "Hello.", system="a")], kind="samples")
    before = samples.read_bytes()
    assert main(["serve", "add", study, str(samples), "--task", "rate", "--name", "t"]) == 0
    assert main(["serve", "export", study, "t", "-o", str(samples)]) == 2
    assert "is the file that task 't' was made from" in capsys.readouterr().err
    assert samples.read_bytes() == before
    for _ in range(2):  # an earlier export may be replaced
        assert main(["serve", "export", study, "t", "-o", str(tmp_path / "rated.jsonl")]) == 0

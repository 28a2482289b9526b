"""`interloq serve`, as a user runs it."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from interloq import Sample
from interloq.cli.main import main
from interloq.data.records.jsonl import write
from interloq.web.access import joining, people
from interloq.web.database import open_database
from tests.cli.made_runs import run_json
from tests.web.conftest import likert_task, replies, store_task


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write(tmp_path / "samples.jsonl", replies(2), kind="samples")
    assert main(["serve", "add", str(tmp_path / "study.db"), str(tmp_path / "samples.jsonl"), "--task", "rate"]) == 0
    return str(tmp_path / "study.db")


def test_add_and_invite(study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples = str(tmp_path / "samples.jsonl")
    assert main(["serve", "add", study, samples, "--task", "rate", "--name", "again"]) == 0
    out = capsys.readouterr().out
    assert "task again: 2 items and 0 checks from 4 records\nit needs at least 3 people, each with up to 2 pages" in out
    assert out.endswith("again -n 3\n")
    facts = run_json(capsys, "serve", "add", study, samples, "--task", "compare", "--name", "pairs")
    assert (facts["task"], facts["needs"]) == ("pairs", {"people": 3, "pages": 2, "answers": 2})
    assert main(["serve", "invite", study, "pairs", "-n", "2", "--public-url", "https://example.org"]) == 0
    links = capsys.readouterr().out.split()
    assert [link.startswith("https://example.org/join/") for link in links] == [True, True]
    (link,) = run_json(capsys, "serve", "invite", study, "--admin", "--role", "viewer")["links"]
    database = open_database(study)
    with database.writing() as connection:
        entry = joining.join(connection, link.rsplit("/", 1)[1], {})
    database.close()
    assert entry is not None
    assert entry.role == "viewer"
    assert main(["serve", "invite", study, "pairs", "--parameter", "PID", "--people", "20"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("?PID={{%PID%}}")
    pairs = ["invite", study, "pairs"]
    refused = (["invite", study], ["invite", study, "nothing"], [*pairs, "--people", "20"], [*pairs, "--role", "lead"])
    for words in (*refused, ["add", study, samples, "--task", "rate"], ["run", study, "--max-calls", "-1"]):
        assert main(["serve", *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_run_serves_until_interrupted_and_prints_no_secret_twice(study: str) -> None:
    command = [sys.executable, "-m", "interloq.cli", "serve", "run", study, "--port", "0", "--access-log"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        link = process.stdout.readline().split()[-1]
        assert "/join/" in link
        assert "serving at http://127.0.0.1:" in process.stdout.readline()
        token = link.rpartition("/")[2]
        with build_opener(HTTPCookieProcessor()).open(link.replace(f"/join/{token}", "/health"), timeout=30) as answer:
            assert answer.status == 200
        with pytest.raises(OSError, match="404"):
            build_opener().open(f"{link}x", timeout=30)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out.strip() == "stopped"
    assert "GET /health" in err
    assert "GET /join/… " in err
    assert token not in err


@pytest.mark.parametrize("words", [[], ["--demo", "backup", "a", "b"], ["--port", "1", "backup", "a", "b"]])
def test_the_demo_and_its_port_are_without_an_action(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", *words]) == 2
    assert "demo" in capsys.readouterr().err


def test_the_help_of_an_action_has_its_examples_only(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "restore", "--help"])
    assert capsys.readouterr().out.endswith("\nexamples:\n  interloq serve restore study-monday.db study.db\n")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    database = open_database(tmp_path / "study.db")
    stored = store_task(database, likert_task(), replies(2))
    with database.writing() as connection:
        joining.join(connection, people.invite(connection, stored.id, parameter="PID"), {"PID": "ann"})
    database.close()
    return str(tmp_path / "study.db")


def test_export_backup_and_restore(opened: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, copy, again = (str(tmp_path / name) for name in ("rated.jsonl", "copy.db", "again.db"))
    assert main(["serve", "export", opened, "likert", "-o", output]) == 0
    assert main(["serve", "backup", opened, copy]) == 0
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
def test_an_export_never_overwrites_the_study(opened: str, end: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(opened).read_bytes()
    assert main(["serve", "export", opened, "likert", "-o", opened + end]) == 2
    assert "is also an input" in capsys.readouterr().err
    assert Path(opened).read_bytes() == before


def test_forget_asks_first(opened: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(["serve", "forget", opened, "ann"]) == 2
    assert "--yes" in capsys.readouterr().err
    facts = run_json(capsys, "serve", "forget", opened, "ann", "--yes")
    assert facts == {"removed": 1, "copies": {}, "not_changed": []}
    assert main(["serve", "forget", opened, "ann", "--yes"]) == 1


def test_an_export_does_not_replace_the_file_that_the_task_was_made_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    samples, opened = tmp_path / "samples.jsonl", str(tmp_path / "new.db")
    write(samples, [Sample("1", ["Hi."], "Hello.", system="a")], kind="samples")
    before = samples.read_bytes()
    assert main(["serve", "add", opened, str(samples), "--task", "rate", "--name", "t"]) == 0
    assert main(["serve", "export", opened, "t", "-o", str(samples)]) == 2
    assert "is the file that task 't' was made from" in capsys.readouterr().err
    assert samples.read_bytes() == before
    for _ in range(2):  # an earlier export may be replaced
        assert main(["serve", "export", opened, "t", "-o", str(tmp_path / "rated.jsonl")]) == 0

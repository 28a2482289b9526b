"""`interloq serve`, as a user runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from interloq.cli.main import main
from interloq.data.records.jsonl import write
from interloq.web.access import joining
from interloq.web.database import open_database
from tests.web.conftest import replies


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
    assert main(["serve", "add", study, samples, "--task", "compare", "--name", "pairs", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["task"], facts["needs"]) == ("pairs", {"people": 3, "pages": 2, "answers": 2})
    assert main(["serve", "invite", study, "pairs", "-n", "2", "--public-url", "https://example.org"]) == 0
    links = capsys.readouterr().out.split()
    assert [link.startswith("https://example.org/join/") for link in links] == [True, True]
    assert main(["serve", "invite", study, "--admin", "--role", "viewer", "--json"]) == 0
    (link,) = json.loads(capsys.readouterr().out)["links"]
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


def test_run_refuses_an_open_network(study: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "run", study, "--host", "0.0.0.0"]) == 2  # noqa: S104
    assert "--secret" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--demo", "backup", "a", "b"], ["--port", "1", "backup", "a", "b"]])
def test_the_demo_and_its_port_are_without_an_action(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", *words]) == 2
    assert "demo" in capsys.readouterr().err


def test_the_help_of_an_action_has_its_examples_only(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "restore", "--help"])
    assert capsys.readouterr().out.endswith("\nexamples:\n  interloq serve restore study-monday.db study.db\n")

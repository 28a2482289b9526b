"""Bots that would never answer are reported before the first dialogue, and nothing is written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from interloq.cli.main import main
from tests.made_chat_server import Server

pytest.importorskip("httpx")


def play(*bots: str, last: str = "hello") -> int:
    """Let bots talk with themselves after two openings; their last word says how the server answers."""
    Path("openings.txt").write_text(f"one\t{last}\ntwo\t{last}\n")
    targets = [part for i, bot in enumerate(bots) for part in ("--target", f"t{i}={bot}")]
    options = ["--scheme", "self-play", "--openings", "openings.txt", "-o", "d.jsonl", "--quiet"]
    return main(["play", "run", *targets, *options])


def endpoint(url: str, **options: Any) -> str:
    more = "".join(f",{name}={value!r}" for name, value in options.items())
    return f"endpoint(url={url!r},model='m',retries=0{more})"


@pytest.mark.parametrize(
    ("word", "failure"),
    [("401", "HTTP 401: "), ("404", "HTTP 404: "), ("302", "HTTP 302"), ("fields", "the answer has no choices[0]")],
)
def test_an_endpoint_that_refuses_is_named_at_once(
    folder: Path, server: Server, capsys: pytest.CaptureFixture[str], word: str, failure: str
) -> None:
    assert play("eliza", endpoint(server.url), last=word) == 2
    printed = capsys.readouterr().err
    assert "'t1' cannot answer: http://127.0.0.1" in printed
    assert f"the endpoint does not answer: {failure}" in printed
    assert "check url, model and key" in printed
    assert len(server.seen) == 1
    assert [path.name for path in folder.iterdir()] == ["openings.txt"]


@pytest.mark.parametrize(
    ("url", "key", "message"),
    [
        ("http://127.0.0.1:9/v1", "", "the endpoint does not answer: no answer: ConnectError"),
        ("http://127.0.0.1:9/v1", "MY_KEY", "the environment variable MY_KEY is not set"),
        ("https://host.invalid/v1", "OPENAI_API_KEY", "the environment variable OPENAI_API_KEY is not set"),
    ],
)
def test_a_wrong_port_or_key_is_named_at_once(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, url: str, key: str, message: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("MY_KEY", raising=False)
    assert play(endpoint(url, key=key)) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["openings.txt"]


def test_one_request_for_equal_endpoints_and_none_for_finished_files(folder: Path, server: Server) -> None:
    both = [endpoint(server.url)] * 2
    assert play(*both) == 0
    assert len(server.seen) == 1 + 2 * 2 * 10  # the trial; then targets, openings, utterances
    assert play(*both) == 0
    assert len(server.seen) == 41
    assert len(Path("d.jsonl").read_text().splitlines()) == 5


@pytest.mark.filterwarnings("default")
def test_a_busy_server_is_left_to_the_play(folder: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert play(endpoint(server.url), last="503") == 1, "every dialogue failed"
    assert "HTTP 503: overloaded; continuing anyway" in capsys.readouterr().err
    assert len(Path("d.jsonl").read_text().splitlines()) == 3


def test_a_program_that_cannot_work_is_named_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bot.py").write_text("import sys; sys.exit('no weights')")
    assert play(f"process(command=({sys.executable!r},'bot.py'))") == 2
    assert "the program does not answer: crashed: exit status 1: no weights" in capsys.readouterr().err
    assert {path.name for path in folder.iterdir()} == {"bot.py", "openings.txt"}

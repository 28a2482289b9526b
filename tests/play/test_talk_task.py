"""Dialogues and replies are equal to the last byte, whoever computes the shards; see also tests/shards."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from interloq import Sample, load, write
from interloq.cli.main import main
from interloq.play import talk_task
from tests.made_chat_server import Server

BOTS = ["--system", "a=eliza", "--system", "b=echo"]
PLAY = ["play", "run", "--target", "a=eliza", "--target", "b=echo", "--partner", "c=eliza", "--limit", "9", "--quiet"]


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small shards, which workers do not have to know."""
    monkeypatch.setattr(talk_task, "PIECE", 4)
    write("prompts.jsonl", [Sample(f"s{i}", [f"I feel {i}"], "fine") for i in range(9)], kind="samples")
    return folder


def run(command: list[str], name: str, *options: str) -> bytes:
    assert main([*command, "-o", name, *options]) == 0
    return Path(name).read_bytes()


@pytest.mark.parametrize("command", [PLAY, ["reply", "prompts.jsonl", *BOTS, "--n", "2", "--quiet"]])
def test_workers_and_shares_write_the_same_bytes(here: Path, command: list[str]) -> None:
    plain = run(command, "plain.jsonl")
    assert run(command, "parts.jsonl", "--parts", "kept") == plain
    assert len(list(Path("kept").glob("*.shard"))) == math.ceil((plain.count(b"\n") - 1) / 4)
    assert run(command, "workers.jsonl", "--workers", "2") == plain
    for share in ("1/2", "2/2"):
        assert main([*command, "-o", "joined.jsonl", "--shard", share, "--parts", "shares"]) == 0
        assert not Path("joined.jsonl").exists()
    assert main(["data", "join", "shares"]) == 0
    assert Path("joined.jsonl").read_bytes() == plain
    assert not [path.name for path in here.iterdir() if path.name.endswith((".journal", ".jsonl.parts"))]


def test_only_missing_replies_are_computed_and_counts_are_joined(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = ["reply", "prompts.jsonl", *BOTS]
    run(reply, "out.jsonl", "--quiet")
    first = [(sample.context, sample.system, sample.response) for sample in load("out.jsonl")]
    capsys.readouterr()
    run(reply, "out.jsonl", "--n", "2", "--workers", "1", "--json")
    replied = json.loads(capsys.readouterr().out)
    assert (replied["rows"], replied["resumed"]) == (36, 18)
    assert {name: counts["replies"] for name, counts in replied["bots"].items()} == {"a": 9, "b": 9}
    more = [(sample.context, sample.system, sample.response) for sample in load("out.jsonl")]
    assert set(first) <= set(more)
    assert not (here / "out.jsonl.parts").exists()


def test_requests_to_servers_are_not_shared_among_processes(
    here: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    asking = f"m=endpoint(url={server.url!r},model='m')"
    for command in (
        ["reply", "prompts.jsonl", "--system", asking],
        ["play", "run", "--target", asking, "--scheme", "self-play"],
    ):
        assert main([*command, "-o", "out.jsonl", "--workers", "2"]) == 2
        assert "endpoint waits for a server or program" in capsys.readouterr().err
        limited = ["--shard", "1/2", "--parts", "parts", "--max-calls", "3"]
        assert main([*command, "-o", "out.jsonl", *limited]) == 2
        assert "limits of requests do not hold over several processes" in capsys.readouterr().err
    assert not server.seen
    assert [path.name for path in here.iterdir()] == ["prompts.jsonl"]


def test_a_ranking_cannot_be_settled_in_shards(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PLAY, "-o", "out.jsonl", "--until-settled", "length", "--workers", "2"]) == 2
    assert "looks at the dialogues one after another" in capsys.readouterr().err
    assert [path.name for path in here.iterdir()] == ["prompts.jsonl"]

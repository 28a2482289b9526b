"""Limits of what verbs send to servers."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from interloq import Reference, Sample, write
from interloq.cli.main import main
from interloq.cli.shared.limits import add_limits, announcer, limited
from interloq.servers.spending import current
from tests.made_chat_server import serving
from tests.made_judge_server import JudgeServer

pytest.importorskip("httpx")


def test_what_was_spent_is_printed_unless_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_limits(parser)
    for quiet in (False, True):
        args = parser.parse_args(["--max-calls", "1"], argparse.Namespace(quiet=quiet))
        with limited(args):
            assert current().start_call() == ""
            assert current().start_call() == "the limit of 1 call is reached"
        assert ("1 call of a language model" in capsys.readouterr().err) != quiet
        assert (announcer(args) is None) == quiet


@pytest.mark.parametrize("reply", ["500", "unsure"])
def test_a_reply_that_the_server_did_not_judge_makes_the_exit_code_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reply: str
) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    write("good.jsonl", [Sample(str(i), ["hi"], text) for i, text in enumerate(("fine", "good"))], kind="samples")
    write("bad.jsonl", [Sample(str(i), ["hi"], text) for i, text in enumerate(("fine", reply))], kind="samples")
    with serving(JudgeServer()) as server:
        judge = f"llm_judge(model='m',endpoint='{server.url}',retries=0)"
        assert main(["score", "good.jsonl", "-m", judge]) == 0
        assert "usable" not in capsys.readouterr().out
        assert main(["score", "bad.jsonl", "-m", judge]) == 1
        assert "; 1 request without a usable answer" in capsys.readouterr().out
        assert main(["compare", "good.jsonl", "bad.jsonl", "-m", judge, "--no-slices"]) == 1
        gate = ["gate", "good.jsonl", "bad.jsonl", "-m", judge, "--no-slices", "--margin", "1"]
        assert main(gate) == 2


def test_rate_and_compare_keep_limits(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    samples = [Sample(str(i), [f"question {i}"], "x", [Reference("fine", 1.0, "retrieved:1")]) for i in range(3)]
    write("samples.jsonl", samples, kind="samples")
    with serving(JudgeServer()) as server:
        judge = f"llm_judge(model='m',endpoint='{server.url}')"
        rate = ["rate", "samples.jsonl", "--rater", f"by({judge})", "-o", "rated.jsonl"]
        assert main([*rate, "--max-calls", "2"]) == 2
        compare = ["compare", "samples.jsonl", "samples.jsonl", "--judge", judge]
        assert main([*compare, "--max-calls", "2"]) == 2
        assert server.seen == []
        assert main([*rate, "--max-calls", "3"]) == 0
        assert main([*compare, "--max-calls", "6"]) == 0
        assert "interloq: 3 calls of a language model" in capsys.readouterr().err
        assert len(server.seen) == 6  # equal replies: both orders are one request

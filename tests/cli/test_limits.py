"""Limits of what verbs send to servers."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from interloq import Reference, Sample, write
from interloq.cli.limits import add_limits, announcer, limited
from interloq.cli.main import main
from interloq.models.spending import current
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

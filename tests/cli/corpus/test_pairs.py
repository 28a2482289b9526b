"""Pairs and test sets, as a user makes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import write
from interloq.cli.main import main
from interloq.data.records.jsonl import load
from interloq.records import Pair
from tests.cli.made_runs import run_corpus
from tests.scorers.interlocutor.made_logs import log

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def logs(folder: Path) -> Path:
    write("talks.jsonl", log(20), kind="dialogues")
    replies = [Pair(f"r{i}", f"question {i // 3}", f"reply {i}", f"q{i // 3}", f"q{i // 3}") for i in range(60)]
    write("log.jsonl", replies, kind="pairs")
    return folder


def test_pairs(capsys: Captured) -> None:
    assert run_corpus(capsys, "pairs", "talks.jsonl", "-o", "pairs.jsonl") == "70 pairs\n"
    shown = run_corpus(capsys, "pairs", "pairs.jsonl", "-o", "some.jsonl", "--from", "1970-01-05", "--draw", "5")
    assert "replies outside the period" in shown
    assert shown.endswith("5 pairs\n")
    facts = json.loads(run_corpus(capsys, "pairs", "talks.jsonl", "-o", "long.jsonl", "--min-posts", "6", "--json"))
    assert facts == {
        "pairs": 25, "usable": 25, "dropped": {"short_dialogues": 15}, "overlapping": {}, "bad_lines": 0,
    }  # fmt: skip
    assert run_corpus(capsys, "pairs", "talks.jsonl", "-o", "-").count("\n") == 71


def test_a_draw_of_more_pairs_than_there_are_is_incomplete(capsys: Captured) -> None:
    assert main(["corpus", "pairs", "log.jsonl", "-o", "out.jsonl", "--draw", "61", "--quiet"]) == 1
    assert "61 pairs were asked for, but the log has only 60" in capsys.readouterr().err
    assert len(load("out.jsonl", kind="pairs")) == 60


def test_a_test_set_and_pairs_without_it(capsys: Captured) -> None:
    arguments = ("testset", "log.jsonl", "-o", "testset", "--min-posts", "2", "--draw", "5")
    assert run_corpus(capsys, *arguments) == (
        "testset: 5 samples of 20 usable utterances; 5 references, 5 candidates\n"
    )
    assert json.loads(run_corpus(capsys, *arguments, "--rest", "references", "--json"))["references"] == 10
    shown = run_corpus(capsys, "pairs", "log.jsonl", "-o", "train.jsonl", "--without", "testset")
    assert shown == "45 pairs; 15 excluded that overlap test samples\n"
    tested = {sample.id for sample in load("testset/samples.jsonl")}
    assert tested.isdisjoint(pair.to for pair in load("train.jsonl", kind="pairs"))


def test_a_share_of_the_log_is_named(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.retrieve.testset.HELD", 30)
    shown = run_corpus(capsys, "testset", "log.jsonl", "-o", "out", "--min-posts", "2", "--draw", "1")
    assert "searched in 50.000% of the log's utterances" in shown or "searched in 25.000%" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["testset", "log.jsonl"], "does not say how long its dialogues are"),
        (["testset", "talks.jsonl"], "no utterance has two usable replies"),
        (["testset", "log.jsonl", "--min-posts", "2", "--draw", "21"], "only 20 can be used"),
        (["testset", "log.jsonl", "--min-posts", "2", "--draw", "-1"], "draw must not be negative"),
        (["testset", "log.jsonl", "--min-posts", "1"], "min_posts must be at least 2"),
        (["testset", "log.jsonl", "--min-posts", "2", "--until", "2018"], "'2018' is not a date"),
        (["pairs", "log.jsonl", "--without", "none.jsonl"], "none.jsonl"),
        (["pairs", "log.jsonl", "--first"], "does not say how long its dialogues are"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(capsys: Captured, arguments: list[str], message: str) -> None:
    assert main(["corpus", *arguments, "-o", "out", "--quiet"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert {path.name for path in Path().iterdir()} == {"talks.jsonl", "log.jsonl"}

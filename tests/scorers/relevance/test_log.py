"""Exchanges from logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import Dialogue, InputError, Sample, Turn, write
from interloq.records import Pair
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.relevance.log import ExchangeLog


@pytest.fixture
def logs(folder: Path) -> Path:
    said = [("a", "one"), ("b", "two"), ("b", "three"), ("a", "four")]
    write("talks.jsonl", [Dialogue("d", [Turn(text, who) for who, text in said])], kind="dialogues")
    write("pairs.jsonl", [Pair("1", "how are you", "fine"), Pair("2", "any news", "none")], kind="pairs")
    return folder


def read(log: ExchangeLog) -> list[tuple[tuple[str, ...], str, tuple[str, ...]]]:
    return [(exchange.context, exchange.reply, exchange.wrong) for exchange in log.exchanges()]


def test_replies_follow_another_speaker(logs: Path) -> None:
    found = read(ExchangeLog(TrainingLog(["talks.jsonl"]), turns=2))
    assert found == [(("one",), "two", ()), (("two", "three"), "four", ())]


def test_what_test_samples_share_is_excluded(logs: Path) -> None:
    write("test.jsonl", [Sample("x", ["How are you?"], "x", ["good"])], kind="samples")
    log = TrainingLog(["pairs.jsonl"], ["test.jsonl"])
    assert read(ExchangeLog(log, turns=3)) == [(("any news",), "none", ())]
    assert log.excluded == 1


def test_a_copied_dialogue_is_excluded_whole(logs: Path) -> None:
    write("test.jsonl", [Sample("x", ["one", "two"], "x", ["good"])], kind="samples")
    log = TrainingLog(["talks.jsonl"], ["test.jsonl"])
    assert read(ExchangeLog(log, turns=3)) == []
    assert log.excluded == 2


def test_written_replies_bring_wrong_ones(logs: Path) -> None:
    item = {"context": ["hi"], "positive_responses": ["hey", "hello"], "adversarial_negative_responses": ["bye"]}
    (logs / "written.jsonl").write_text(json.dumps(item) + "\n\n")
    log = ExchangeLog(TrainingLog([]), ["written.jsonl"], turns=3)
    assert read(log) == [(("hi",), "hey", ("bye",)), (("hi",), "hello", ("bye",))]
    assert log.fingerprint != ExchangeLog(TrainingLog(["pairs.jsonl"]), turns=3).fingerprint


@pytest.mark.parametrize("line", ["{", "{}", '{"context": "hi", "positive_responses": []}', "[]"])
def test_a_line_without_replies_is_named(logs: Path, line: str) -> None:
    (logs / "written.jsonl").write_text(line)
    with pytest.raises(InputError, match=r"written\.jsonl:1"):
        read(ExchangeLog(TrainingLog([]), ["written.jsonl"], turns=3))

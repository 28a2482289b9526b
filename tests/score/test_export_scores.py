"""Scores for other tools: events that OpenTelemetry defines, and a table that others import."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from interloq import Dialogue, InputError, Reference, Sample, Turn, write
from interloq.records import Score
from interloq.score.export_scores import export_scores
from interloq.score.score_options import ScoreExportOptions

TRACE, SPAN = "ab" * 16, "cd" * 8
FACTS: dict[str, Any] = {"trace_id": TRACE, "log_id": SPAN, "response_id": "resp_1"}


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    context = [Turn("hi", "ann"), Turn("hello", "assistant"), Turn("=bye", "ann")]
    first = Sample("d#1", context[:1], "hello", [Reference("hey")], "m1", (), "d", FACTS)
    second = Sample("d#3", context, "ciao", (), "m1", (), "d")
    write(tmp_path / "samples.jsonl", [first, second], kind="samples")
    scores = [
        Score("d#1", "length", 1.0, system="m1", dialogue="d"),
        Score("d#3", "length", None, "empty reply", system="m1", dialogue="d"),
        Score("d#1", "bleu", 0.5, system="m1", dialogue="d"),
    ]
    write(tmp_path / "scores.jsonl", scores, kind="scores")
    return tmp_path


def export(folder: Path, to: Any, *samples: str) -> tuple[dict[str, int], Path]:
    output = folder / "out"
    options = ScoreExportOptions(to=to, samples=[str(folder / name) for name in samples])
    return export_scores(folder / "scores.jsonl", output, options), output


def test_events(scored: Path) -> None:
    counts, output = export(scored, "otel", "samples.jsonl")
    assert counts == {"scores": 3, "replies": 2, "unknown": 0}
    records = []
    for line in output.read_text().splitlines():
        ((resource,),) = json.loads(line).values()
        records += resource["scopeLogs"][0]["logRecords"]
    first, unscored, _ = records
    assert first["eventName"] == "gen_ai.evaluation.result"
    assert (first["traceId"], first["spanId"]) == (TRACE, SPAN)
    assert {pair["key"]: next(iter(pair["value"].values())) for pair in first["attributes"]} == {
        "gen_ai.evaluation.name": "length",
        "gen_ai.evaluation.score.value": 1.0,
        "gen_ai.response.id": "resp_1",
        "gen_ai.response.model": "m1",
        "gen_ai.conversation.id": "d",
    }
    attributes = {pair["key"]: next(iter(pair["value"].values())) for pair in unscored["attributes"]}
    assert attributes["gen_ai.evaluation.explanation"] == "empty reply"
    assert "gen_ai.evaluation.score.value" not in attributes
    assert "traceId" not in unscored


@pytest.mark.parametrize("to", ["langfuse", "langsmith"])
def test_a_table_has_a_row_per_reply(scored: Path, to: str) -> None:
    _, output = export(scored, to, "samples.jsonl")
    with output.open(newline="") as file:
        first, second = csv.DictReader(file)
    assert (first["input"], first["output"], first["expected_output"]) == ("hi", "hello", "hey")
    assert (first["score.length"], first["score.bleu"], first["trace_id"]) == ("1", "0.5", TRACE)
    assert (second["score.length"], second["score.bleu"]) == ("", "")
    assert json.loads(second["input"])[1:] == [
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": "=bye"},
    ]


def test_dialogues_may_be_given_instead_of_samples(scored: Path) -> None:
    turns = [Turn("hi", "ann"), Turn("hello", "bot", fields=FACTS), Turn("=bye", "ann"), Turn("ciao", "bot")]
    write(scored / "dialogues.jsonl", [Dialogue("d", turns, {"bot": "m1"})], kind="dialogues")
    counts, output = export(scored, "otel", "dialogues.jsonl")
    assert counts["unknown"] == 0
    assert SPAN in output.read_text()


def test_scores_without_samples(scored: Path) -> None:
    counts, output = export(scored, "otel")
    assert counts["scores"] == len(output.read_text().splitlines()) == 3
    with pytest.raises(InputError, match="'d#1' is in no file of samples"):
        export(scored, "langfuse")
    write(scored / "other.jsonl", [Sample("x", "hi", "hello", system="m1")], kind="samples")
    assert export(scored, "otel", "other.jsonl")[0]["unknown"] == 3
    with pytest.raises(InputError, match="also"):
        export_scores(scored / "scores.jsonl", scored / "scores.jsonl", ScoreExportOptions())

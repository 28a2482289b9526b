# SPDX-License-Identifier: Apache-2.0
"""Scores written for other tools: events of OpenTelemetry, or a table that Langfuse and LangSmith import as a dataset.

An event is `gen_ai.evaluation.result` as a log record in OTLP JSON, at the span of the reply if the log named it. The
table has a row per reply with `input`, `output`, `expected_output`, the ids of the log, and a column per metric.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from interloq.data.files.opening import replacing
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.records.convert_file import detect_kind
from interloq.data.records.messages import ASSISTANTS
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.data.records.tables import Cell, write_table
from interloq.errors import InputError
from interloq.play.samples import samples, whole_dialogues
from interloq.records import Sample, SampleKeys, Score
from interloq.score.score_options import ScoreExportOptions
from interloq.score.scored_samples import ScoredSamples
from interloq.version import __version__

_IDS = ("log_id", "trace_id", "response_id")  # facts of replies that importers keep
_SPAN, _TRACE = re.compile("[0-9a-f]{16}"), re.compile("[0-9a-f]{32}")


def export_scores(
    scores: str | Path, output: str | Path, options: ScoreExportOptions, *, reading: ReadOptions = READ_DEFAULTS
) -> dict[str, int]:
    """Write the scores of samples or dialogues for another tool, and return counts.

    Scores of replies that are in no file of samples are written too, without what only the samples know.
    """
    refuse_overwriting([output], [scores, *options.samples])
    records = [sample for path in options.samples for sample in _read_samples(path, reading)]
    by_key = {sample.key: sample for sample in records}
    keys, checked = SampleKeys(by_key), ScoredSamples(records)
    known: list[tuple[Score, Sample | None]] = []
    counts = Counter(scores=0, replies=0, unknown=0)
    for score in checked.check(reading.read_beside([scores], kind="scores"), scores):
        key = keys.find(score.id, score.system)
        known.append((score, by_key[key] if key else None))
        counts["scores"] += 1
        counts["unknown"] += bool(records) and key is None
    counts["replies"] = len({score.key for score, _ in known})
    if options.to == "otel":
        _write_events(output, known, Path(scores))
    else:
        _write_dataset(output, known)
    return dict(counts)


def _read_samples(path: str | Path, reading: ReadOptions) -> Iterator[Sample]:
    if detect_kind(path) != "dialogues":
        yield from reading.read(path)
        return
    for make in (samples, whole_dialogues):
        yield from make(reading.read(path, kind="dialogues"))


def _write_events(output: str | Path, known: Sequence[tuple[Score, Sample | None]], source: Path) -> None:
    time = str(int(source.stat().st_mtime) * 10**9)  # when they were scored
    with replacing(output) as file:
        for score, sample in known:
            record = _event(score, sample.fields if sample else {}, time)
            scope = {"scope": {"name": "interloq", "version": __version__}, "logRecords": [record]}
            line = {"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [scope]}]}
            file.write(orjson.dumps(line) + b"\n")


def _event(score: Score, facts: Mapping[str, Any], time: str) -> dict[str, Any]:
    attributes: dict[str, str | float] = {"gen_ai.evaluation.name": score.metric}
    if score.value is not None:
        attributes["gen_ai.evaluation.score.value"] = score.value
    else:
        attributes["error.type"] = "unscored"
    if score.reason:
        attributes["gen_ai.evaluation.explanation"] = score.reason
    if response := facts.get("response_id", facts.get("log_id")):
        attributes["gen_ai.response.id"] = str(response)
    if score.dialogue:
        attributes["gen_ai.conversation.id"] = score.dialogue
    if score.system:
        attributes["gen_ai.response.model"] = score.system
    pairs = []
    for name, value in attributes.items():
        kind = "stringValue" if isinstance(value, str) else "doubleValue"
        pairs.append({"key": name, "value": {kind: value}})
    record: dict[str, Any] = {"timeUnixNano": time, "eventName": "gen_ai.evaluation.result", "attributes": pairs}
    for name, fact, form in (("traceId", "trace_id", _TRACE), ("spanId", "log_id", _SPAN)):
        if form.fullmatch(str(facts.get(fact, ""))):
            record[name] = facts[fact]
    return record


def _write_dataset(output: str | Path, known: Sequence[tuple[Score, Sample | None]]) -> None:
    metrics = list(dict.fromkeys(score.metric for score, _ in known))
    replies: dict[tuple[str, str], dict[str, Cell]] = {}
    for score, sample in known:
        if sample is None:
            what = f"{score.id!r} is in no file of samples"
            raise InputError(what, hint="a dataset needs what was asked: --samples FILE")
        row = replies.setdefault(score.key, _row(sample))
        row[f"score.{score.metric}"] = score.value
    columns = [
        "id",
        "input",
        "output",
        "expected_output",
        "system",
        "dialogue",
        *_IDS,
        *(f"score.{m}" for m in metrics),
    ]
    write_table(output, columns, ([row.get(name) for name in columns] for row in replies.values()))


def _row(sample: Sample) -> dict[str, Cell]:
    messages = []
    for turn in sample.context:
        role = "assistant" if turn.speaker.lower() in ASSISTANTS or turn.speaker == sample.system else "user"
        messages.append({"role": role, "content": turn.text})
    prompt = sample.context[0].text if len(messages) == 1 else orjson.dumps(messages).decode()
    facts: dict[str, Cell] = {name: sample.fields.get(name) for name in _IDS}
    return facts | {
        "id": sample.id,
        "input": prompt,
        "output": sample.response,
        "expected_output": sample.references[0].text if sample.references else None,
        "system": sample.system,
        "dialogue": sample.dialogue,
    }

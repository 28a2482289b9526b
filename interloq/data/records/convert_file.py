# SPDX-License-Identifier: Apache-2.0
"""Conversion of files of records in any supported layout to JSONL, and counts of the records of a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from interloq.data.files.opening import plain_suffix
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, count_records, silent
from interloq.data.records.jsonl import header, write
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.data.text.texts import kind_of
from interloq.errors import InputError
from interloq.records import Dialogue, Preference, Rating, Sample, Score

KINDS = ("samples", "dialogues", "scores", "ratings", "preferences")


def convert_file(
    path: str | Path,
    output: str | Path,
    *,
    kind: str | None = None,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write the records of a file as JSONL, with its header, and return their kind and counts.

    `kind` is taken from the header or the first record unless given. `-` is a pipe.
    """
    refuse_overwriting([output], [path])
    if plain_suffix(output) in (".csv", ".tsv"):
        raise InputError(f"cannot write {output}: records are written as JSONL", hint="name a .jsonl file")
    kept = {name: value for name, value in _header(path).items() if name not in ("kind", "schema")}
    kind, summary = kind or detect_kind(path), RecordSummary()
    with progress("reading", None) as step:
        records = count_records(reading.read(path, kind=kind), step)
        write(output, summary.watch(records), kind=kind, **kept)
    return {"kind": kind, **summary.facts()}


def detect_kind(path: str | Path) -> str:
    """Return the kind of records in the file, from its header or first record."""
    kind = kind_of(path)
    if kind not in KINDS:
        return "samples"
    return kind


def _header(path: str | Path) -> dict[str, Any]:
    """Return the header; empty for a pipe, which cannot be read twice, and for a bad line, which is reported later."""
    if str(path) == "-":
        return {}
    try:
        return header(path)
    except InputError:
        return {}


class RecordSummary:
    """Counts of records: pass them through `watch` and read `facts` afterwards."""

    def __init__(self) -> None:
        self.records = 0
        self.systems: Counter[str] = Counter()
        self.raters: set[str] = set()
        self.anonymous = 0
        self.judgments: Counter[str] = Counter()
        self.not_applicable: Counter[str] = Counter()
        self.references: Counter[int] = Counter()
        self.metrics: Counter[str] = Counter()
        self.unscored = 0

    def watch(self, records: Iterable[Any]) -> Iterator[Any]:
        """Yield the records and count them."""
        for record in records:
            self.add(record)
            yield record

    def add(self, record: Any) -> None:
        self.records += 1
        if isinstance(record, Sample):
            self.references[len(record.references)] += 1
        if isinstance(record, Sample | Score) and record.system:
            self.systems[record.system] += 1
        if isinstance(record, Score):
            self.metrics[record.metric] += 1
            self.unscored += record.value is None
        if isinstance(record, Dialogue):
            self.systems.update(record.systems.values())
            for turn in record.turns:
                for rating in turn.ratings:
                    self._add_rating(rating)
        if isinstance(record, Preference):
            self.systems.update(record.systems)
        if isinstance(record, Rating):
            self._add_rating(record)
        for rating in getattr(record, "ratings", ()):
            self._add_rating(rating)

    def _add_rating(self, rating: Rating) -> None:
        if rating.rater:
            self.raters.add(rating.rater)
        else:
            self.anonymous += 1
        self.judgments[rating.aspect] += 1
        self.not_applicable[rating.aspect] += rating.value is None

    def facts(self) -> dict[str, Any]:
        """Return the counts as plain values, except counts that do not apply to this kind of record."""
        facts: dict[str, Any] = {"records": self.records, "systems": dict(sorted(self.systems.items()))}
        if self.references:
            facts["references"] = {str(n): count for n, count in sorted(self.references.items())}
        if self.metrics:
            facts |= {"metrics": dict(sorted(self.metrics.items())), "unscored": self.unscored}
        return facts | {
            "raters": len(self.raters),
            "ratings": sum(self.judgments.values()),
            "ratings_without_rater": self.anonymous,
            "not_applicable": sum(self.not_applicable.values()),
            "aspects": {
                aspect: {"ratings": count, "not_applicable": self.not_applicable[aspect]}
                for aspect, count in sorted(self.judgments.items())
            },
        }

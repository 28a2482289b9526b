# SPDX-License-Identifier: Apache-2.0
"""Counts of the records of a file, made while streaming."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from interloq.records import Dialogue, Preference, Rating, Sample, Score


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
        """Yield the records, which are counted."""
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
        """Return the counts as plain values, without those that do not apply to this kind of record."""
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

# SPDX-License-Identifier: Apache-2.0
"""Summary of a rating: weights by source, and samples that cannot be scored with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from interloq.errors import InputError
from interloq.rate.rater import Rater
from interloq.records import Key, Sample
from interloq.retrieve.leaks import is_original


def summary(samples: Iterable[Sample], rater: Rater) -> dict[str, Any]:
    """Counts over rated samples. A rater whose ratings match none of them is refused."""
    counts = RatingSummary(rater)
    for sample in samples:
        counts.add(sample)
    return counts.facts()


class RatingSummary:
    """Counts over rated samples; if a rater judges only some references (`human`), these are counted separately."""

    def __init__(self, rater: Rater) -> None:
        self._rater: Any = rater
        self._sources: dict[str, Counter[str]] = {}
        self._means: dict[str, float] = {}  # sums of judged weights, by source
        self._samples: Counter[str] = Counter()
        self._own: Counter[str] = Counter()
        self._used: set[Key] = set()
        self._example = ""

    def add(self, sample: Sample) -> None:
        weights = [reference.weight for reference in sample.references]
        self._samples["samples"] += 1
        self._samples["without_references"] += not weights
        self._samples["without_gold"] += not any(map(is_original, sample.references))
        self._samples["without_positive"] += bool(weights) and max(weights) <= 0
        partial = hasattr(self._rater, "judged")
        judged = self._rater.judged(sample) if partial else [True] * len(weights)
        for reference, is_judged in zip(sample.references, judged, strict=True):
            source = reference.source.split(":")[0]
            row = self._sources.setdefault(source, Counter())
            row.update(references=1, judged=is_judged, positive=is_judged and reference.weight > 0)
            self._means[source] = self._means.get(source, 0.0) + (reference.weight if is_judged else 0.0)
        if partial:
            self._own.update(self._rater.counts([sample]))
            self._used |= self._rater.used(sample)
            if weights and not self._example:
                self._example = f"{sample.id}/0"

    def facts(self) -> dict[str, Any]:
        """Counts, means and shares; the latter two over judged references only, without default weights."""
        sources = {name: self._source(name, row) for name, row in sorted(self._sources.items())}
        references = sum(row["references"] for row in self._sources.values())
        facts: dict[str, Any] = {**self._samples, "references": references, "sources": sources}
        if self._own:
            self._check()
            facts |= {**self._own, "unknown_items": self._rater.items() - len(self._used)}
        return facts

    def _source(self, name: str, row: Counter[str]) -> dict[str, Any]:
        judged = row["judged"]
        mean = positive = None
        if judged:
            mean, positive = self._means[name] / judged, row["positive"] / judged
        return {"references": row["references"], "judged": judged, "mean": mean, "positive": positive}

    def _check(self) -> None:
        if self._example and not self._own["rated"]:
            raise InputError(
                f"none of the {self._rater.items():,} rated items is a reference of these samples: "
                f"rated items are like {self._rater.example()}, references like {self._example!r}",
                hint="an item is <sample id>/<index of the reference, from 0>",
            )

"""What came of a rating: weights by source, and samples that cannot be scored with them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from interloq.rate.rater import Rater
from interloq.records import Sample
from interloq.retrieve.leaks import is_original


class Summary:
    """Counts over rated samples; a rater that counts on its own (`human`) has these counts added."""

    def __init__(self, rater: Rater) -> None:
        self._rater: Any = rater
        self._sources: dict[str, list[float]] = {}  # references, sum of weights, weights above 0
        self._samples: Counter[str] = Counter()
        self._own: Counter[str] = Counter()

    def add(self, sample: Sample) -> None:
        weights = [reference.weight for reference in sample.references]
        self._samples["samples"] += 1
        self._samples["without_references"] += not weights
        self._samples["without_gold"] += not any(map(is_original, sample.references))
        self._samples["without_positive"] += bool(weights) and max(weights) <= 0
        for reference in sample.references:
            row = self._sources.setdefault(reference.source.split(":")[0], [0, 0.0, 0])
            row[0], row[1], row[2] = row[0] + 1, row[1] + reference.weight, row[2] + (reference.weight > 0)
        if hasattr(self._rater, "counts"):
            self._own.update(self._rater.counts([sample]))

    def facts(self) -> dict[str, Any]:
        sources = {
            source: {"references": int(n), "mean": total / n, "positive": positive / n}
            for source, (n, total, positive) in sorted(self._sources.items())
        }
        facts = {**self._samples, "references": sum(row["references"] for row in sources.values()), "sources": sources}
        if self._own:
            facts |= {**self._own, "unknown_items": self._rater.items() - self._own["rated"]}
        return facts

# SPDX-License-Identifier: Apache-2.0
"""Weak references: which samples have references that are not reliable enough, and how many more these need.

Predictions are scores named `reliability(metric=…)`. How many more references a set needs is judged by how predictions
grow: each query's own references are put in random orders. The rise at size k is the mean difference between the
predictions for the first k + 1 and the first k references, over all queries with more than k. A set of size n with
prediction p is expected to reach the wanted reliability with m more references if p + the rises at sizes n … n + m − 1
reach it. Nothing is extrapolated: the number is unknown if too few queries here have so many references.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

import numpy as np

from interloq.errors import count
from interloq.records import Key, SampleKeys, Score, format_key
from interloq.reliability.labels import distinct_texts
from interloq.signature import fingerprint

_BEFORE, _AFTER = "reliability(metric=", ")"
EXAMPLES = 3  # weak samples that a note names
QUERIES, ORDERS = 200, 3  # most queries, and random orders of the references of each
LARGEST = 20  # references: larger sets are rare
FEWEST = 5  # queries: the mean of fewer would be chance


def metric_name(metric: str) -> str:
    """Name of predictions in score files: `reliability(metric=bleu_star)`."""
    return f"{_BEFORE}{metric}{_AFTER}"


def predicted_metric(name: str) -> str:
    """The metric that predictions of this name are about; empty if they are scores of a metric."""
    is_prediction = name.startswith(_BEFORE) and name.endswith(_AFTER)
    return name[len(_BEFORE) : -len(_AFTER)] if is_prediction else ""


def is_weak(score: Score) -> bool:
    """Whether the references of a sample are predicted to be less reliable than wanted."""
    return score.value is not None and score.value < score.details.get("minimum", -math.inf)


def summary(scores: Sequence[Score]) -> dict[str, Any]:
    """Counts of predictions, of weak samples, and of references these need."""
    values = [score.value for score in scores if score.value is not None]
    weak = [score.details.get("needed") for score in scores if is_weak(score)]
    known = [n for n in weak if n is not None]
    return {
        "samples": len(scores),
        "mean": fmean(values) if values else None,
        "minimum": max((s.details["minimum"] for s in scores if "minimum" in s.details), default=None),
        "weak": len(weak),
        "needed": math.ceil(median(known)) if known else None,  # by half of the weak samples for which it is known
        "unknown": len(weak) - len(known),  # weak samples that need an unknown number
        "unpredicted": dict(Counter(score.reason for score in scores if score.value is None)),
    }


def weak_note(metric: str, found: Mapping[str, Any]) -> str:
    """How many samples have too weak references, and how many more they need, in words."""
    which = f"{found['weak']:,} of {count(found['samples'], 'sample')}"
    note = f"references too weak to trust {metric}: {which}, with a predicted reliability below {found['minimum']:g}"
    if found["needed"] is not None:
        note += f"; {count(found['needed'], 'more reference')} each would be enough for half of them"
    if found["unknown"]:
        which = "" if found["unknown"] == found["weak"] else f" for {found['unknown']:,} of them"
        note += f"; how many more are needed cannot be said{which}: larger sets are too rare here, or are weak too"
    return note


class Predictions:
    """Takes predictions out of a stream of scores, and makes notes of them."""

    def __init__(self) -> None:
        self.found: dict[str, list[Score]] = {}  # by the metric they are about

    def without(self, scores: Iterable[Score]) -> Iterator[Score]:
        """The scores of metrics; predictions are kept here."""
        for score in scores:
            metric = predicted_metric(score.metric)
            if metric:
                self.found.setdefault(metric, []).append(score)
            else:
                yield score

    def weak(self, keys: Iterable[Key]) -> dict[Key, float]:
        """Samples with too weak references among these, with their lowest prediction."""
        known, weakest = SampleKeys(keys), dict[Key, float]()
        for score in (score for some in self.found.values() for score in some if is_weak(score)):
            if key := known.find(score.id, score.system):
                weakest[key] = min(score.value or 0.0, weakest.get(key, math.inf))
        return weakest

    def notes(self, keys: Iterable[Key]) -> list[str]:
        """One note per metric with weak samples among these, with examples."""
        known, notes = SampleKeys(keys), []
        for metric, some in sorted(self.found.items()):
            own = [score for score in some if known.find(score.id, score.system)]
            weak = sorted(score.key for score in own if is_weak(score))
            if weak:
                named = ", ".join(map(format_key, weak[:EXAMPLES]))
                notes.append(f"{weak_note(metric, summary(own))} (for example {named})")
        return notes


# ---- how many more references a set needs ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rise:
    """Mean rise of the prediction from `size` references to one more, over some queries."""

    size: int
    mean: float
    queries: int


def rises(
    model: Any, queries: Sequence[Sequence[str]], reference_sets: Sequence[Sequence[str]], *, seed: int = 0
) -> list[Rise]:
    """Return rises by size, up to the first size that fewer than FEWEST queries exceed."""
    useful = set()
    for query, references in zip(queries, reference_sets, strict=True):
        texts = distinct_texts(references)
        if len(texts) > 1 and any(turn.strip() for turn in query):
            useful.add((tuple(query), texts))
    chosen = sorted(useful, key=lambda pair: fingerprint(str(seed), *pair[0], *pair[1]))[:QUERIES]
    if len(chosen) < FEWEST:
        return []
    set_queries: list[tuple[str, ...]] = []
    sets: list[list[str]] = []
    sizes = []
    for turns, texts in chosen:
        rng = np.random.default_rng(int(fingerprint(str(seed), *turns, *texts), 16))
        size = min(len(texts), LARGEST)
        sizes.append(size)
        for _ in range(ORDERS):
            order = [texts[i] for i in rng.permutation(len(texts))[:LARGEST]]
            sets += [order[: i + 1] for i in range(size)]
            set_queries += [turns] * size
    return _means(np.asarray(model.predict(set_queries, sets).mean), sizes)


def _means(values: Any, sizes: Sequence[int]) -> list[Rise]:
    """Return mean differences by size; `values` belong to the growing sets of every order of every query."""
    differences = np.full((len(sizes), LARGEST - 1), np.nan)
    start = 0
    for row, size in zip(differences, sizes, strict=True):
        query_values = values[start : start + size * ORDERS].reshape(ORDERS, size)
        row[: size - 1] = np.diff(query_values, axis=1).mean(axis=0)
        start += size * ORDERS
    counts = (~np.isnan(differences)).sum(axis=0)
    known = [size for size in range(1, LARGEST) if counts[size - 1] >= FEWEST]
    return [Rise(size, float(np.nanmean(differences[:, size - 1])), int(counts[size - 1])) for size in known]


def needed(value: float, size: int, wanted: float, known_rises: Sequence[Rise]) -> int | None:
    """Return the number of further references expected to reach `wanted`; None if the known sizes do not reach it."""
    by_size = {rise.size: rise.mean for rise in known_rises}
    more = 0
    while not math.isnan(value) and value < wanted:
        if size + more not in by_size:
            return None
        value += by_size[size + more]
        more += 1
    return None if math.isnan(value) else more

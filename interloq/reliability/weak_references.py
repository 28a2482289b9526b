# SPDX-License-Identifier: Apache-2.0
"""Weak references: which samples have references that are not reliable enough, and how many more they need.

Predictions are scores named `reliability(metric=…)`. How many more references a set needs is estimated from how
predictions grow, with each query's own references in random orders. The rise at size k is the mean difference between
the predictions for the first k + 1 and the first k references, over all queries with more than k. A set of size n with
prediction p is expected to reach the wanted reliability with m more references if p + the rises at sizes n … n + m − 1
reach it. Nothing is extrapolated: if too few queries here have so many references, the number is unknown, and the
reason is stored in its place.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np

from interloq.errors import count
from interloq.records import Key, Sample, SampleKeys, Score, format_key
from interloq.reliability.labels import distinct_texts, has_text
from interloq.reliability.reliability_options import check_minimum
from interloq.signature import fingerprint

if TYPE_CHECKING:  # loads torch
    from interloq.reliability.ready_fit import TrainedModel

_BEFORE, _AFTER = "reliability(metric=", ")"
EXAMPLES = 3  # weak samples that a note names
QUERIES, ORDERS = 200, 3  # most queries, and random orders of the references of each
LARGEST = 20  # references: larger sets are rare
FEWEST = 5  # queries: the mean of fewer would be chance
OLD_REASON = "larger sets are too rare here, or are weak too"  # in files of versions that did not store the reason


def metric_name(metric: str) -> str:
    """Return the name of predictions in score files: `reliability(metric=bleu_star)`."""
    return f"{_BEFORE}{metric}{_AFTER}"


def predicted_metric(name: str) -> str:
    """Return the metric that predictions of this name are about; empty if they are scores of a metric."""
    if name.startswith(_BEFORE) and name.endswith(_AFTER):
        return name[len(_BEFORE) : -len(_AFTER)]
    return ""


def is_weak(score: Score) -> bool:
    """Return whether the references of a sample are predicted to be less reliable than wanted."""
    return score.value is not None and score.value < score.details.get("minimum", -math.inf)


def summarise_predictions(scores: Sequence[Score]) -> dict[str, Any]:
    """Count predictions, weak samples, and the references that weak samples need."""
    values, minimums, needs = [], [], []
    unpredicted, why_unknown = Counter[str](), Counter[str]()
    for score in scores:
        if score.value is None:
            unpredicted[score.reason] += 1
        else:
            values.append(score.value)
        if is_weak(score):
            needs.append(score.details.get("needed"))
            if needs[-1] is None:
                why_unknown[score.details.get("why_unknown", OLD_REASON)] += 1
        if "minimum" in score.details:
            minimums.append(score.details["minimum"])
    known = [n for n in needs if n is not None]
    return {
        "samples": len(scores),
        "mean": fmean(values) if values else None,
        "minimum": max(minimums, default=None),
        "weak": len(needs),
        "needed": math.ceil(median(known)) if known else None,  # by half of the weak samples for which it is known
        "unknown": len(needs) - len(known),  # weak samples that need an unknown number
        "why_unknown": dict(why_unknown),
        "unpredicted": dict(unpredicted),
    }


def weak_note(metric: str, counts: Mapping[str, Any]) -> str:
    """Return in words how many samples have references that are too weak, and how many more they need."""
    which = f"{counts['weak']:,} of {count(counts['samples'], 'sample')}"
    note = f"references too weak to trust {metric}: {which}, with a predicted reliability below {counts['minimum']:g}"
    if counts["needed"] is not None:
        note += f"; {count(counts['needed'], 'more reference')} each would be enough for half of them"
    if counts["unknown"]:
        note += "; how many more are needed cannot be said"
        if counts["unknown"] < counts["weak"]:
            note += f" for {counts['unknown']:,} of them"
        note += f": {format_counts(counts['why_unknown'])}"
    return note


def format_counts(reasons: Mapping[str, int]) -> str:
    """Return reasons in words, the most frequent first, with their counts if there are several."""
    ordered = sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0]))
    if len(ordered) == 1:
        return ordered[0][0]
    return "; ".join(f"{reason} ({n:,})" for reason, n in ordered)


class Predictions:
    """Takes predictions out of a stream of scores, and makes notes on them."""

    def __init__(self) -> None:
        self._by_metric: dict[str, list[Score]] = {}  # the metric they are about

    def without(self, scores: Iterable[Score]) -> Iterator[Score]:
        """Yield the scores of metrics, and keep the predictions here."""
        for score in scores:
            metric = predicted_metric(score.metric)
            if metric:
                self._by_metric.setdefault(metric, []).append(score)
            else:
                yield score

    def weak(self, keys: Iterable[Key]) -> dict[Key, float]:
        """Return the samples among these whose references are too weak, with their lowest prediction."""
        known, weakest = SampleKeys(keys), dict[Key, float]()
        for score in chain.from_iterable(self._by_metric.values()):
            key = known.find(score.id, score.system)
            if key and is_weak(score):
                weakest[key] = min(score.value or 0.0, weakest.get(key, math.inf))
        return weakest

    def notes(self, keys: Iterable[Key]) -> list[str]:
        """Return one note per metric with weak samples among these, with examples."""
        known, notes = SampleKeys(keys), []
        for metric, scores in sorted(self._by_metric.items()):
            sample_scores = [score for score in scores if known.find(score.id, score.system)]
            weak = sorted(score.key for score in sample_scores if is_weak(score))
            if weak:
                examples = ", ".join(map(format_key, weak[:EXAMPLES]))
                notes.append(f"{weak_note(metric, summarise_predictions(sample_scores))} (for example {examples})")
        return notes


def weak_references(model: TrainedModel, minimum: float) -> Callable[[Sequence[Sample]], list[str]]:
    """Return a function that gives reasons why samples should not be scored: "" if their references are good enough.

    A sample whose references have no prediction is left to the metric.
    """
    check_minimum(minimum)
    reason = f"references too weak: predicted reliability below {minimum:g}"

    def reasons(samples: Sequence[Sample]) -> list[str]:
        predicted = model.predict(*contexts_and_references(samples)).mean
        return [reason if value < minimum else "" for value in predicted.tolist()]

    return reasons


def contexts_and_references(samples: Iterable[Sample]) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return the texts of the context, and of the references, of each sample."""
    contexts, references = [], []
    for sample in samples:
        contexts.append(tuple(turn.text for turn in sample.context))
        references.append(tuple(reference.text for reference in sample.references))
    return contexts, references


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
        if len(texts) > 1 and has_text(query):
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
    rises_by_size = []
    for size, queries in enumerate(counts.tolist(), start=1):
        if queries >= FEWEST:
            rises_by_size.append(Rise(size, float(np.nanmean(differences[:, size - 1])), queries))
    return rises_by_size


def count_needed_references(
    value: float, size: int, wanted: float, known_rises: Sequence[Rise]
) -> tuple[int | None, str]:
    """Return how many further references are expected to reach `wanted`, or None and why that cannot be said."""
    if math.isnan(value):
        return None, "nothing is predicted for these references"
    by_size = {rise.size: rise.mean for rise in known_rises}
    more = 0
    while value < wanted:
        if size + more not in by_size:
            return None, _explain_unknown(size, more)
        value += by_size[size + more]
        more += 1
    return more, ""


def _explain_unknown(size: int, more: int) -> str:
    largest = size + more
    if largest >= LARGEST:
        rare = f"sets of more than {LARGEST} references are not compared"
    else:
        rare = f"fewer than {FEWEST} queries here have more than {count(largest, 'reference')}"
    if not more:
        return rare
    return f"{largest} references are not expected to be enough, and {rare}"

# SPDX-License-Identifier: Apache-2.0
"""Predicted reliabilities among scores: recognise them, and say which samples have too weak references."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from interloq.errors import count
from interloq.records import Key, SampleKeys, Score, format_key

_BEFORE, _AFTER = "reliability(metric=", ")"
EXAMPLES = 3  # weak samples that a note names


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

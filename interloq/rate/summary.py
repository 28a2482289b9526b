# SPDX-License-Identifier: Apache-2.0
"""Summary of a rating: weights by source, samples that cannot be scored with them, and warnings about the rater.

A weak rater can be recognised by the dev figures in its folder; a rater that trusts the parrot, by its weights. Half of
the dev examples are positive, so guessing has a loss of ln 2 = .693. A rater is called weak if its loss is less than a
third below that, above .462. Measured raters (docs/rate.md): a Bi-GRU with .570 distinguished valid replies from random
ones with an AUC of .61, and the rater of the demo's embedded log with .51 gives high weights to replies that repeat the
utterance; a rater from MiniLM with .268 had an AUC of .85.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import log
from pathlib import Path
from typing import Any

from interloq.data.files.opening import read_json, reading_saved
from interloq.errors import InputError
from interloq.learn.calibrate import CALIBRATION
from interloq.rate.rater import Rater
from interloq.records import Key, Sample
from interloq.registry import Component, parts_of
from interloq.retrieve.leaks import is_original

GUESSING = log(2)
WEAK = 2 / 3 * GUESSING


def summary(samples: Iterable[Sample], rater: Rater) -> dict[str, Any]:
    """Return counts over rated samples. A rater whose ratings match none of them is refused."""
    counts = RatingSummary(rater)
    for sample in samples:
        counts.add(sample)
    return counts.facts()


class RatingSummary:
    """Counts over rated samples; references judged by a rater that knows only some (`human`) are counted separately."""

    def __init__(self, rater: Rater) -> None:
        self._rater = rater
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
        for reference, is_judged in zip(sample.references, self._rater.find_judged(sample), strict=True):
            source = reference.source.split(":")[0]
            row = self._sources.setdefault(source, Counter())
            row.update(references=1, judged=is_judged, positive=is_judged and reference.weight > 0)
            self._means[source] = self._means.get(source, 0.0) + (reference.weight if is_judged else 0.0)
        self._own.update(self._rater.counts([sample]))
        self._used |= self._rater.find_used(sample)
        if weights and not self._example:
            self._example = f"{sample.id}/0"

    def facts(self) -> dict[str, Any]:
        """Return counts, means and shares; the latter two only over judged references, without default weights."""
        sources = {name: self._source(name, row) for name, row in sorted(self._sources.items())}
        references = sum(row["references"] for row in self._sources.values())
        facts: dict[str, Any] = {**self._samples, "references": references, "sources": sources}
        if self._own:
            if self._example and not self._own["rated"]:
                raise InputError(
                    f"none of the {self._rater.items():,} rated items is a reference of these samples: "
                    f"rated items are like {self._rater.example()}, references like {self._example!r}",
                    hint="an item is <sample id>/<index of the reference, from 0>",
                )
            facts |= {**self._own, "unknown_items": self._rater.items() - len(self._used)}
        return facts

    def _source(self, name: str, row: Counter[str]) -> dict[str, Any]:
        judged = row["judged"]
        mean = positive = None
        if judged:
            mean, positive = self._means[name] / judged, row["positive"] / judged
        return {"references": row["references"], "judged": judged, "mean": mean, "positive": positive}


def warning(loss: float) -> str:
    """Return the warning about a rater with this dev loss; empty if it is good enough."""
    if loss <= WEAK:
        return ""
    return (
        f"the rater is weak: its dev loss is {loss:.3f}; random guessing has {GUESSING:.3f}. Its weights may reward "
        "replies that only repeat the utterance: train it on more pairs, use another rater (bert(…), "
        "by(relevance(…))), or exclude the utterance from the references (parrot=False, extend --no-parrot)"
    )


def parrot_warning(sources: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the warning about weights that reward repeating the utterance, or an empty text.

    It is based on a rating's summary by source. Good dev figures do not rule this out: the wrong replies that a rater
    learns from answer other utterances.
    """
    mean = sources.get("parrot", {}).get("mean")
    if mean is None or mean <= 0:
        return ""
    return (
        f"the rater gives the utterance itself a mean weight of {mean:.2f}, so replies that only repeat it are "
        "rewarded: exclude it from the references (extend --no-parrot, parrot=False), or use another rater, such as "
        "by(relevance(…))"
    )


def folder_warning(folder: str, *, scaled: bool) -> str:
    """Return the warning about a trained folder; `scaled` if its probabilities are used with the temperature."""
    path = Path(folder) / CALIBRATION
    if not folder or not path.is_file():
        return ""
    with reading_saved(folder):
        facts = read_json(path)
        return warning(float((facts["scaled"] if scaled else facts)["nll"]))


def warnings_of(component: Component) -> list[str]:
    """Return the warnings of a component, and of the components in its fields."""
    warnings = [component.warning()]
    for part in parts_of(component):
        warnings += warnings_of(part)
    return list(dict.fromkeys(filter(None, warnings)))

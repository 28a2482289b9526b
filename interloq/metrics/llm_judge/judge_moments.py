# SPDX-License-Identifier: Apache-2.0
"""How far to trust a judge's scores: sums over samples from which slopes and correlations follow.

One row per sample, so that the figures of any set or resample are computed from its summed rows, like its score:

length slope     slope of the score on log2(1 + characters of the reply): points per doubling of length
reliability      1 − (mean variance of the runs of a reply / runs) / variance of the mean scores of replies
agreement        Pearson correlation with the mean ratings of the samples that people rated

A pair of replies is a unit too: its score is the preference for the first, from 0 to 1, its size the log2 of the ratio
of lengths, and its rating the difference of the two replies' ratings.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, variance

import numpy as np

from interloq.metrics.metric import Array
from interloq.records import Sample

FEWEST = 3  # samples: two give a correlation of 1 or −1
COLUMNS = 15
NOUNS = {  # judged units: their plural, and what their sizes are the logarithms of
    "reply": ("replies", "a reply's length"),
    "dialogue": ("dialogues", "the length of all that the system says"),
    "pair": ("pairs", "the relative length"),
}


def moments(size: float, runs: Sequence[float], rating: float | None, mass: float = 1.0) -> list[float]:
    """Return the row of a judged unit: its size (the log of a length), scores in each run, people's rating if any.

    `mass` is the probability of the possible scores.
    """
    score = fmean(runs)
    noise = variance(runs) if len(runs) > 1 else 0.0
    rated, value = 0.0, 0.0
    if rating is not None:
        rated, value = 1.0, rating
    return [
        *(1.0, mass, noise),
        *(size, size**2, score, score**2, size * score),
        *(rated, value, value**2, rated * score, rated * score**2, value * score),
        float(len(runs)),
    ]


def rating_of(sample: Sample, aspect: str) -> float | None:
    """Return the mean of people's ratings of an aspect; None without ratings."""
    values = [r.value for r in sample.ratings if r.aspect == aspect and r.value is not None]
    return fmean(values) if values else None


def figures(total: Array) -> dict[str, float]:
    """Return the figures of a set by name, from its summed moments; figures that cannot be computed are missing."""
    n, mass, noise = total[:3]
    size, size2, score, score2, cross = total[3:8]
    rated, rating, rating2, own, own2, both = total[8:14]
    known: dict[str, float] = {}
    if not n:
        return known
    known["choice_probability"] = mass / n
    runs, spread = total[14] / n, _co(score2, score, score, n) / max(n - 1, 1)
    lengths = _co(size2, size, size, n)
    if n >= FEWEST and lengths > 0:
        known["length_slope"] = _co(cross, size, score, n) / lengths
    if runs > 1 and n >= FEWEST and spread > 0:
        known["run_reliability"] = 1 - noise / n / runs / spread
    if rated >= FEWEST and (product := _co(own2, own, own, rated) * _co(rating2, rating, rating, rated)) > 0:
        known |= {"agreement": _co(both, own, rating, rated) / sqrt(product), "rated": rated}
    return {name: float(value) for name, value in known.items()}


def format_figures(known: dict[str, float], *, noun: str = "reply", deterministic: bool = False) -> str:
    """Return the figures of judged units in words, including unknown ones; `deterministic` judges have no noise."""
    plural, length = NOUNS[noun]
    parts = ["slope on length unknown"]
    if "length_slope" in known:
        parts = [f"{known['length_slope']:+.2f} points per doubling of {length}"]
    if "run_reliability" in known:
        parts.append(f"run-to-run reliability {known['run_reliability']:.2f}")
    elif not deterministic:
        parts.append("run-to-run reliability unknown, it needs n above 1 and scores that differ")
    if "agreement" in known:
        parts.append(f"correlation {known['agreement']:.2f} with the ratings of {known['rated']:,.0f} {plural}")
    else:
        parts.append(f"agreement with people unknown, it needs {FEWEST} {plural} whose ratings and scores differ")
    if known.get("choice_probability", 1.0) < 1:
        parts.append(f"possible answers have {known['choice_probability']:.2f} of the probability")
    return "; ".join(parts)


def _co(products: float, first: float, second: float, n: float) -> float:
    """Return the sum of products of deviations from the means, from plain sums; tiny differences are rounding."""
    expected = first * second / n
    difference = products - expected
    if abs(difference) <= 1e-9 * max(abs(expected), abs(products)):
        return 0.0
    return float(np.float64(difference))

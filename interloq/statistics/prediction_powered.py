# SPDX-License-Identifier: Apache-2.0
"""Mean human rating from few labels and many scores: prediction-powered inference.

Angelopoulos et al. (2023), PPI, with the tuned weight of PPI++ (Angelopoulos, Duchi and Zrnic, 2023). With ratings Y
and scores f of n labelled units and scores of N others:

    mean = λ · mean_others(f) + mean_labelled(Y − λ f),        λ = Cov(Y, f) / (Var_labelled(f) + n/N · Var_others(f)).

It is unbiased for any λ and any metric, even a poor one, if the labelled units are a random sample of all. λ absorbs
the scale of the metric and becomes 0 if its scores do not follow the ratings: then only the labels count. Standard
errors are over clusters (see `interloq.statistics.clustered`), and the estimation of λ costs one degree of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from interloq.statistics.clustered import Array, Clustered, cluster_mean, difference, total
from interloq.statistics.correlation import is_constant

LEAST = 5  # labels: with fewer, the weight is too noisy
COMPARED = 10  # units with and without a label that are needed to tell whether these were chosen
CERTAIN = 0.995  # quantile above which a difference between them is not chance: p < .01


@dataclass(frozen=True, slots=True)
class Powered:
    """Estimates of a mean human rating."""

    labels_alone: Clustered
    powered: Clustered | None  # None: too few labels with a score, or no other scores
    weight: float = 0.0  # λ


def prediction_powered(ratings: Array, scores: Array, clusters: Sequence[str]) -> Powered:
    """Return the mean rating of all units; NaN marks units without a rating or without a score."""
    names = np.array(clusters, dtype=object)
    rated, scored = ~np.isnan(ratings), ~np.isnan(scores)
    alone = cluster_mean(ratings[rated], names[rated].tolist())
    labelled, others = rated & scored, ~rated & scored
    if labelled.sum() < LEAST or not others.any():
        return Powered(alone, None)
    weight = tune_weight(ratings[labelled], scores[labelled], scores[others])
    rest = cluster_mean(ratings[labelled] - weight * scores[labelled], names[labelled].tolist(), lost=2)
    mean_of_others = cluster_mean(scores[others], names[others].tolist()).times(weight)
    if not weight:  # the labels alone set the degrees of freedom
        mean_of_others = Clustered(0.0, mean_of_others.n, rest.freedom, {})
    return Powered(alone, total(rest, mean_of_others), weight)


def are_selected(ratings: Array, scores: Array) -> bool:
    """Return whether labelled units score higher, lower or more extremely than the others: then they were chosen.

    Estimates assume a random sample. NaN marks units without a rating or without a score.
    """
    scored = ~np.isnan(scores)
    labelled = ~np.isnan(ratings[scored])
    scores = scores[scored]
    if min(labelled.sum(), (~labelled).sum()) < COMPARED:
        return False
    extremeness = np.abs(scores - np.median(scores))
    return _differ(scores[labelled], scores[~labelled]) or _differ(extremeness[labelled], extremeness[~labelled])


def _differ(first: Array, second: Array) -> bool:
    first_mean = cluster_mean(first, [f"first {i}" for i in range(len(first))])
    second_mean = cluster_mean(second, [f"second {i}" for i in range(len(second))])
    gap = difference(first_mean, second_mean)
    if not gap.error:
        return not is_constant(np.concatenate([first, second]))
    return abs(gap.value) >= gap.quantile(CERTAIN) * gap.error


def tune_weight(ratings: Array, scores: Array, others: Array) -> float:
    """Return the λ with the smallest estimated variance; 0 if scores are constant.

    Each term has the variance of its own scores, so that an outlier in either cannot make the interval wider than with
    labels alone.
    """
    spread = float(scores.var(ddof=1))
    if is_constant(scores):
        return 0.0
    rest = spread
    if len(others) > 1:
        rest = float(others.var(ddof=1))
    return float(np.cov(ratings, scores, ddof=1)[0, 1]) / (spread + len(scores) / len(others) * rest)

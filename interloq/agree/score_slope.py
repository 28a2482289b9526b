# SPDX-License-Identifier: Apache-2.0
"""What a difference in a metric's score means in human ratings, from the slope of scores on ratings.

Over rated samples, c is the least-squares slope of score = a + c · rating; its standard error is over clusters of
samples of one dialogue or with the same context. A loss of m in ratings lowers the mean score by c · m, so a difference
d of mean scores is a difference d / c of ratings. Its interval is Fieller's, which accounts for the errors of both:

    all θ with (d − θ c)² ≤ t² (Var(d) + θ² Var(c)).

The other regression, of ratings on scores, would convert with a slope that becomes 0 for a useless metric: all versions
would seem equal in ratings. Here a weak metric has a small c and a wide interval. Noise in the ratings lowers c too and
makes losses look larger, so it errs on the strict side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from interloq.agree.judgments import Judgments
from interloq.agree.table import Slope
from interloq.errors import InputError
from interloq.statistics.clustered import LEVEL, Array, Clustered, t_quantile

LEAST = 10  # rated samples


def score_slope(scores: Array, ratings: Array, clusters: Sequence[str]) -> Clustered:
    """Return the slope of scores on ratings."""
    if len(scores) < LEAST:
        raise InputError(
            f"only {len(scores)} rated samples have a score", hint=f"at least {LEAST} are needed to convert a margin"
        )
    centred = ratings - ratings.mean()
    spread = float(centred @ centred)
    if spread == 0:
        raise InputError("all rated samples have the same rating", hint="rate samples of different quality")
    slope = float(centred @ scores) / spread
    residuals = scores - scores.mean() - slope * centred
    sums: dict[str, float] = {}
    for cluster, x in zip(clusters, centred * residuals / spread, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + float(x)
    freedom = max(0, len(sums) - 2)
    scale = math.sqrt(len(sums) / freedom) if freedom else math.nan
    return Clustered(slope, len(scores), freedom, {cluster: scale * x for cluster, x in sums.items()})


def slope_on_judgments(scores: Array, judgments: Judgments) -> Slope | None:
    """Return the slope of scores on mean judgments; None if too few samples have both, or all judgments are equal."""
    people = judgments.mean()
    known = ~np.isnan(scores) & ~np.isnan(people)
    if known.sum() < LEAST or np.ptp(people[known]) == 0:
        return None
    slope = score_slope(scores[known], people[known], list(map(str, judgments.clusters()[known])))
    return Slope(slope.value, slope.n, slope.ci, slope.error, slope.freedom)


def check_slope(slope: Clustered, metric: str, *, lower_is_better: bool) -> None:
    """Refuse a metric whose scores do not get better with higher ratings."""
    low, high = slope.ci or (math.nan, math.nan)
    if not (high < 0 if lower_is_better else low > 0):
        shown = f"{slope.value:.3g} [{low:.3g}, {high:.3g}]"
        raise InputError(
            f"scores of {metric} do not get better with higher ratings: score per unit of rating {shown}",
            hint="use a metric that agrees with people, or more rated samples, or a margin in units of the metric",
        )


def in_ratings(difference: float, error: float, freedom: float, slope: Clustered) -> tuple[float, tuple[float, float]]:
    """Convert a difference of scores to the scale of the ratings; return it with its 95 % interval.

    The interval is unbounded if the slope is not significant with these degrees of freedom.
    """
    value = difference / slope.value
    tail = t_quantile((1 + LEVEL) / 2, freedom) ** 2
    bend = slope.value**2 - tail * slope.error**2
    if not bend > 0:
        return value, (-math.inf, math.inf)
    middle = difference * slope.value / bend
    half = math.sqrt(max(0.0, middle**2 - (difference**2 - tail * error**2) / bend))
    return value, (middle - half, middle + half)

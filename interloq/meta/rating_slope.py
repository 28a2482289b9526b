"""How much a difference in a metric's score means in human ratings: the slope of ratings on scores.

The least-squares slope b of rating = a + b · score over rated samples; its standard error is over clusters of samples
with the same context. A difference d of two mean scores then predicts a difference b · d of mean ratings, with the
variance b² Var(d) + d² Var(b) + Var(b) Var(d).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from interloq.errors import InputError
from interloq.statistics.clustered import Array, Clustered

LEAST = 10  # rated samples


def rating_slope(scores: Array, ratings: Array, clusters: Sequence[str]) -> Clustered:
    """Slope of ratings on scores."""
    if len(scores) < LEAST:
        raise InputError(
            f"only {len(scores)} rated samples have a score", hint=f"at least {LEAST} are needed to convert a margin"
        )
    centred = scores - scores.mean()
    spread = float(centred @ centred)
    if spread == 0:
        raise InputError("all rated samples have the same score", hint="use a metric that distinguishes replies")
    slope = float(centred @ ratings) / spread
    residuals = ratings - ratings.mean() - slope * centred
    sums: dict[str, float] = {}
    for cluster, x in zip(clusters, centred * residuals / spread, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + float(x)
    freedom = max(0, len(sums) - 2)
    scale = math.sqrt(len(sums) / freedom) if freedom else math.nan
    return Clustered(slope, len(scores), freedom, {cluster: scale * x for cluster, x in sums.items()})


def check_slope(slope: Clustered, metric: str, *, lower_is_better: bool) -> None:
    """Refuse a metric whose better scores do not go with higher ratings."""
    low, high = slope.ci or (math.nan, math.nan)
    if not (high < 0 if lower_is_better else low > 0):
        shown = f"{slope.value:.3g} [{low:.3g}, {high:.3g}]"
        raise InputError(
            f"better scores of {metric} do not go with higher ratings: ratings per unit of score {shown}",
            hint="use a metric that agrees with people, or more rated samples, or a margin in units of the metric",
        )


def in_ratings(difference: float, error: float, slope: Clustered) -> tuple[float, float]:
    """A difference of scores in ratings, and its standard error."""
    variance = (slope.value * error) ** 2 + (difference * slope.error) ** 2 + (slope.error * error) ** 2
    return slope.value * difference, math.sqrt(variance)

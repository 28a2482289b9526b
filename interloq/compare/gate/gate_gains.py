# SPDX-License-Identifier: Apache-2.0
"""Gains of a new version in units of the margin, and how much more data would decide whether a loss is above it.

The variance of gain + margin has a part that shrinks in proportion to the number n of units, and a part that more units
do not reduce:

    scores                    Var(difference)                              nothing
    ratings, by a slope c     Var(difference) / c²                         m² Var(c) / c²: more rated samples reduce it
    ratings of both versions  labels: a / n                                scores: b / N, of all N units

With a one-sided test at level α, 80 % power needs |gain + m| ≥ (t(1 − α) + t(.8)) · √variance. The parts a and b follow
from the errors without scores, (a + b) / n, and with scores, a / n + b / N.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from interloq.agree.score_slope import check_slope, in_ratings
from interloq.agree.table import UnitKind
from interloq.compare.comparison import FEW, Change, Comparison, HumanMean
from interloq.errors import InputError
from interloq.metrics.metric_names import downwards
from interloq.statistics.clustered import POWER, Clustered, t_probability, t_quantile
from interloq.statistics.estimate import Estimate

Scale = Literal["score", "rating"]
ALPHA = 0.025  # one-sided, as for a 95 % interval
MOST = 1000  # times as many units; advice to collect more than that would be useless
NEGLIGIBLE = 1e-13  # standard error relative to the scores, below which it is a rounding error


@dataclass(frozen=True, slots=True)
class Gain:
    """A gain, positive if the new version is better, with its uncertainty at the margin."""

    metric: str
    slice: str
    value: float
    ci: tuple[float, float]
    margin: float
    scale: Scale
    n: int
    counted: str  # what n counts: sample, dialogue, cluster of these, or label
    freedom: float
    shrinking: float  # part of the variance of gain + margin that is proportional to 1 / n
    fixed: float = 0.0  # part that does not depend on n
    most: float = math.inf  # units with a score: more labels than these need more scores too
    slope: Estimate | None = None  # score per unit of rating, and the number of rated units
    rated: str = "rated sample"  # or rated dialogue: what people rated for the slope
    constant: float | None = None  # the score, if all units of both versions have the same
    compared: str = ""  # verdict of the comparison on the same scores; empty if the gain is not in scores
    doubt: str = ""  # why these data cannot decide, whatever the interval
    varies: bool = True  # whether differences vary; if not, the interval has no width and shows nothing

    @property
    def distance(self) -> float:
        """Return the distance from the margin; negative if the loss is above it."""
        return self.value + self.margin

    @property
    def p(self) -> float:
        """Return the one-sided p-value for a loss above the margin."""
        error = math.sqrt(self.shrinking + self.fixed)
        if not error:
            return float(self.distance >= 0)
        return t_probability(self.distance / error, self.freedom)

    def estimate_needed(self, alpha: float) -> tuple[int, str] | None:
        """Return how many units, labels or rated units would decide, with tests at this level.

        Return None if far too many are needed, if no single kind would suffice, or if variances are unknown.
        """
        both = t_quantile(1 - alpha, self.freedom) + t_quantile(POWER, self.freedom)
        allowed = (self.distance / both) ** 2  # variance that decides
        units = _enough(self.n, self.shrinking, allowed - self.fixed)
        if units and units <= self.most:
            return units, self.counted
        if self.slope:
            rated = _enough(self.slope.n, self.fixed, allowed - self.shrinking)
            if rated:
                return rated, self.rated
            return None
        variance = self.shrinking
        if self.fixed:
            variance += self.fixed * self.most / self.n  # with labels of all units
        units = _enough(self.n, variance, allowed)
        if units:
            return units, self.counted
        return None


def _enough(n: int, variance: float, allowed: float) -> int | None:
    """Return how many units reduce a variance proportional to 1 / n to what is allowed; None if far too many."""
    if not (variance > 0 and allowed * MOST > variance):
        return None
    return max(n + 1, math.ceil(n * variance / allowed))


def score_gain(
    change: Change, comparison: Comparison, margin: float, slope: Clustered | None, unit: UnitKind = "sample"
) -> Gain:
    """Return the gain in units of the score or, given the slope of scores on ratings, in units of the ratings."""
    lower = change.direction == "lower"
    if change.direction == "neither":
        lower = downwards(change.metric, verb="gate")
    value, (low, high) = change.difference, change.ci or (math.nan, math.nan)
    if lower:
        value, low, high = -value, -high, -low
    gain = Gain(
        metric=change.metric,
        slice=change.slice,
        value=value,
        ci=(low, high),
        margin=margin,
        scale="score",
        n=change.clusters,
        counted=_name_units(change, comparison),
        freedom=change.freedom,
        shrinking=change.error**2,
        constant=change.constant,
        compared=change.verdict,
        varies=_varies(change.error, change.old.value, change.new.value),
    )
    independent = math.inf if change.assumed else change.freedom + 1  # the fewest runs are enough for an assumption
    gain = replace(gain, doubt=_doubt(comparison, independent, gain.counted))
    if slope is None or change.ci is None:
        return gain
    check_slope(slope, change.metric, lower_is_better=lower)
    freedom = min(change.freedom, slope.freedom)
    value, ci = in_ratings(change.difference, change.error, freedom, slope)
    return replace(
        gain,
        value=value,
        ci=ci,
        scale="rating",
        freedom=freedom,
        shrinking=(change.error / slope.value) ** 2,
        fixed=(margin * slope.error / slope.value) ** 2,
        slope=Estimate(slope.value, slope.n, slope.ci),
        rated=f"rated {unit}",
    )


def _doubt(comparison: Comparison, independent: float, counted: str) -> str:
    """Return why a sample decides nothing, whatever its interval: it is too small, or of one version only."""
    if comparison.same_replies:
        return "both versions have the same replies, so nothing is compared"
    if independent < FEW:
        return f"too few independent {counted}s to decide: at least {FEW} of each version are needed"
    return ""


def _varies(error: float, old: float, new: float) -> bool:
    return not error <= NEGLIGIBLE * max(abs(old), abs(new))


def _name_units(change: Change, comparison: Comparison) -> str:
    """Return what the independent units are: samples, dialogues, or clusters of them."""
    units = change.new.n
    if comparison.pairing == "none":
        units += change.old.n
    if change.clusters == units:
        return comparison.unit
    return "assumed cluster" if change.assumed else "cluster"


def rating_gain(change: Change, comparison: Comparison, margin: float) -> Gain:
    """Return the gain in the mean human rating, estimated with the metric's scores, or else from labels alone."""
    alone = estimate = None  # the difference by labels alone, and the best estimate of it
    means: dict[str, float] = {}
    selected = False
    for mean in comparison.people:
        selected = selected or mean.selected
        if not mean.metric:
            means[mean.which] = mean.value
        if mean.which == "difference" and not mean.metric:
            alone = mean
        if mean.which == "difference" and mean.metric == change.metric:
            estimate = mean
    estimate = estimate or alone
    if alone is None or estimate is None or estimate.ci is None:
        raise InputError("no ratings of both versions", hint="add ratings to both files, or omit --by-ratings")
    fixed, most = _of_scores(alone, estimate)
    doubt = _doubt(comparison, alone.freedom + 1, "label")
    if selected and not doubt:
        doubt = "rated units score differently from the others, so they are not a random sample of all"
    return Gain(
        metric=change.metric,
        slice="",
        value=estimate.value,
        ci=estimate.ci,
        margin=margin,
        scale="rating",
        n=estimate.labels,
        counted="label",
        freedom=estimate.freedom,
        shrinking=max(0.0, estimate.error**2 - fixed),
        fixed=fixed,
        most=most,
        doubt=doubt,
        varies=_varies(estimate.error, means["old"], means["new"]),
    )


def _of_scores(alone: HumanMean, estimate: HumanMean) -> tuple[float, float]:
    """Return the part of the variance that only more scores reduce, and the number of scores."""
    n, scores = estimate.labels, estimate.scored
    if scores <= n:
        return 0.0, math.inf
    saved = max(0.0, alone.error**2 - estimate.error**2)
    return min(saved / (scores / n - 1), estimate.error**2), scores

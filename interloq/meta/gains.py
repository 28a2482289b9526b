# SPDX-License-Identifier: Apache-2.0
"""Gains of a new version in units of the margin, and how many more data would decide whether a loss is above it.

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

from interloq.errors import InputError
from interloq.meta.comparison import Change, Comparison, HumanMean
from interloq.meta.score_slope import check_slope, in_ratings
from interloq.meta.table import Estimate, UnitKind
from interloq.metrics.metric_names import downwards
from interloq.statistics.clustered import POWER, Clustered, t_probability, t_quantile

Scale = Literal["score", "rating"]
ALPHA = 0.025  # one-sided: that of a 95 % interval
MOST = 1000  # times as many units; advice to collect more than that would be useless


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

    @property
    def distance(self) -> float:
        """From the margin; negative if the loss is above it."""
        return self.value + self.margin

    @property
    def p(self) -> float:
        """One-sided p-value of a loss above the margin."""
        error = math.sqrt(self.shrinking + self.fixed)
        if not error:
            return float(self.distance >= 0)
        return t_probability(self.distance / error, self.freedom)

    def needed(self, alpha: float) -> tuple[int, str] | None:
        """How many units, labels or rated units would decide, with tests at this level.

        None if far too many, if no one kind alone would, or if variances are unknown.
        """
        both = t_quantile(1 - alpha, self.freedom) + t_quantile(POWER, self.freedom)
        allowed = (self.distance / both) ** 2  # variance that decides
        units = _enough(self.n, self.shrinking, allowed - self.fixed)
        if units and units <= self.most:
            return units, self.counted
        if self.slope:
            rated = _enough(self.slope.n, self.fixed, allowed - self.shrinking)
            return (rated, self.rated) if rated else None
        scores = self.fixed * self.most / self.n if self.fixed else 0.0  # with labels of all units
        units = _enough(self.n, self.shrinking + scores, allowed)
        return (units, self.counted) if units else None


def _enough(n: int, variance: float, allowed: float) -> int | None:
    """How many units reduce a variance that is proportional to 1 / n to what is allowed; None if far too many."""
    if not (variance > 0 and allowed * MOST > variance):
        return None
    return max(n + 1, math.ceil(n * variance / allowed))


def score_gain(
    change: Change, comparison: Comparison, margin: float, slope: Clustered | None, unit: UnitKind = "sample"
) -> Gain:
    """Gain in scores or, with the slope of scores on ratings of these units, in ratings."""
    lower = change.direction == "lower" if change.direction != "neither" else downwards(change.metric, verb="gate")
    if change.ci is None:
        where = f" in {change.slice}" if change.slice else ""
        hint = "give at least two of each version; replies to one context or in one dialogue count as one"
        raise InputError(f"too few independent units{where}", hint=hint)
    names, counted = (change.metric, change.slice), (change.clusters, _counted(change, comparison))
    if slope is None:
        low, high = change.ci
        gain, ci = (-change.difference, (-high, -low)) if lower else (change.difference, change.ci)
        return Gain(
            *names, gain, ci, margin, "score", *counted, change.freedom, change.error**2, constant=change.constant
        )
    check_slope(slope, change.metric, lower_is_better=lower)
    freedom = min(change.freedom, slope.freedom)
    gain, ci = in_ratings(change.difference, change.error, freedom, slope)
    parts = (change.error / slope.value) ** 2, (margin * slope.error / slope.value) ** 2
    shown = Estimate(slope.value, slope.n, slope.ci)
    gain_in_ratings = Gain(*names, gain, ci, margin, "rating", *counted, freedom, *parts, constant=change.constant)
    return replace(gain_in_ratings, slope=shown, rated=f"rated {unit}")


def _counted(change: Change, comparison: Comparison) -> str:
    """What the independent units are: samples, dialogues, or clusters of them."""
    units = change.new.n + (change.old.n if comparison.pairing == "none" else 0)
    return comparison.unit if change.clusters == units else "cluster"


def rating_gain(change: Change, comparison: Comparison, margin: float) -> Gain:
    """Gain in the mean human rating, estimated with the metric's scores, or else from labels alone."""
    known = {human.metric: human for human in comparison.people if human.which == "difference"}
    alone, found = known.get(""), known.get(change.metric) or known.get("")
    if alone is None or found is None or found.ci is None:
        raise InputError("no ratings of both versions", hint="add ratings to both files, or omit --by-ratings")
    fixed, most = _of_scores(alone, found)
    shrinking = max(0.0, found.error**2 - fixed)
    freedom, n = found.freedom, found.labels
    return Gain(change.metric, "", found.value, found.ci, margin, "rating", n, "label", freedom, shrinking, fixed, most)


def _of_scores(alone: HumanMean, found: HumanMean) -> tuple[float, float]:
    """Part of the variance that only more scores reduce, and the number of scores."""
    n, scores = found.labels, found.scored
    if scores <= n:
        return 0.0, math.inf
    saved = max(0.0, alone.error**2 - found.error**2)
    return min(saved / (scores / n - 1), found.error**2), scores

# SPDX-License-Identifier: Apache-2.0
"""Means of values in clusters, such as replies in dialogues, and their differences, with t intervals.

An estimate keeps the influence of each cluster c on it: for the mean m of n values in G clusters,

    influence(c) = √(G / (G − 1)) · Σ_{i in c} (x_i − m) / n,        standard error = √(Σ_c influence(c)²).

The influence on a difference is the difference of the influences. Clusters that both estimates share therefore pair
them, and estimates without a common cluster are independent.

Shares of independent yes-or-no answers have exact intervals (Clopper and Pearson, 1934) and binomial tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LEVEL, POWER = 0.95, 0.8


@dataclass(frozen=True, slots=True)
class Clustered:
    """An estimate with the influence of each cluster on it."""

    value: float
    n: int
    freedom: float  # degrees of freedom of its standard error; 0: the error is unknown
    influence: Mapping[str, float]

    @property
    def error(self) -> float:
        """Return the standard error; NaN for fewer than two clusters."""
        if not self.freedom > 0:
            return math.nan
        return math.sqrt(math.fsum(x * x for x in self.influence.values()))

    @property
    def ci(self) -> tuple[float, float] | None:
        """Return the 95 % interval, or None if the error is unknown."""
        half = self.quantile((1 + LEVEL) / 2) * self.error
        if math.isnan(half):
            return None
        return self.value - half, self.value + half

    def ci_within(self, low: float, high: float) -> tuple[float, float] | None:
        """Return the 95 % interval of a mean on a scale, computed on log-odds so that it stays on the scale.

        It is None if the error is unknown or 0: values that are all equal do not show how much they vary.
        """
        share = (self.value - low) / (high - low)
        half = self.quantile((1 + LEVEL) / 2) * self.error / (high - low)
        if not (0 < share < 1 and half > 0):
            return None
        center, half = math.log(share / (1 - share)), half / (share * (1 - share))
        lower, upper = math.tanh((center - half) / 2), math.tanh((center + half) / 2)
        return low + (high - low) * (1 + lower) / 2, low + (high - low) * (1 + upper) / 2

    @property
    def skewness(self) -> float:
        """Return the skewness of the estimate: the skewness of the values / √n; 0 if the error is unknown or 0."""
        if not self.error > 0:
            return 0.0
        return math.fsum((x / self.error) ** 3 for x in self.influence.values())

    def skewed_ci(self, skewness: float) -> tuple[float, float] | None:
        """Return the 95 % interval, longer on the side of the tail if the estimate is skewed.

        Johnson (1978): with a = |skewness|, the quantile t becomes t + a (1 + 2 t²) / 6 there. On the other side, where
        t is cautious, it stays t.
        """
        if self.ci is None:
            return None
        quantile = self.quantile((1 + LEVEL) / 2)
        further = abs(skewness) * (1 + 2 * quantile**2) / 6
        below = above = quantile
        if skewness < 0:
            below += further
        else:
            above += further
        return self.value - below * self.error, self.value + above * self.error

    def skewed_p(self, skewness: float) -> float:
        """Return the two-sided p-value of a true value of 0: below 5 % if and only if `skewed_ci` excludes 0.

        It is NaN if the error is unknown or 0.
        """
        if not self.error > 0:
            return math.nan
        t = abs(self.value) / self.error
        if skewness * self.value < 0:  # 0 is on the side of the tail: the quantile q with q + tail (1 + 2 q²) / 6 = t
            tail = abs(skewness)
            t = max(0.0, (math.sqrt(max(0.0, 1 + 4 * tail / 3 * (t - tail / 6))) - 1) / (2 * tail / 3))
        return min(1.0, 2 * t_probability(-t, self.freedom))

    @property
    def detectable(self) -> float:
        """Return the smallest true value that differs significantly from 0 with a probability of 80 % (two-sided, 5 %).

        It is NaN if all values are equal: they do not show how much values vary.
        """
        return (self.quantile((1 + LEVEL) / 2) + self.quantile(POWER)) * (self.error or math.nan)

    def quantile(self, probability: float) -> float:
        """Return a quantile of Student's t; NaN if the error is unknown."""
        return t_quantile(probability, self.freedom)

    def times(self, factor: float) -> Clustered:
        """Return the estimate in other units."""
        scaled = {cluster: factor * x for cluster, x in self.influence.items()}
        return replace(self, value=factor * self.value, influence=scaled)


def pooled_skewness(first: Clustered, second: Clustered) -> float:
    """Return the skewness of the difference of two independent means, if the values of both have the same shape.

    The larger group shows how skewed values are; a small group may not have any extreme values yet.
    """
    residuals = [first.n * x for x in first.influence.values()]
    residuals += [second.n * x for x in second.influence.values()]
    largest = max(map(abs, residuals), default=0.0)
    if not largest > 0:
        return 0.0
    square = math.fsum((x / largest) ** 2 for x in residuals) / len(residuals)
    cube = math.fsum((x / largest) ** 3 for x in residuals) / len(residuals)
    variance = len(first.influence) * square / first.n**2 + len(second.influence) * square / second.n**2
    third = len(first.influence) * cube / first.n**3 - len(second.influence) * cube / second.n**3
    return float(third / variance**1.5)


def t_quantile(probability: float, freedom: float) -> float:
    """Return a quantile of Student's t; NaN without degrees of freedom."""
    from scipy import stats

    if not freedom > 0:
        return math.nan
    return float(stats.t.ppf(probability, freedom))


def t_probability(value: float, freedom: float) -> float:
    """Return the probability of a smaller value of Student's t; NaN without degrees of freedom."""
    from scipy import stats

    if not freedom > 0:
        return math.nan
    return float(stats.t.cdf(value, freedom))


def cluster_mean(values: Array, clusters: Sequence[str], *, lost: int = 1) -> Clustered:
    """Return the mean of values with the influence of each cluster; the estimation used `lost` degrees of freedom."""
    if not len(values):
        return Clustered(math.nan, 0, 0, {})
    mean = float(values.mean())
    sums: dict[str, float] = {}
    for cluster, residual in zip(clusters, (values - mean) / len(values), strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + float(residual)
    freedom = max(0, len(sums) - lost)
    scale = math.nan
    if freedom:
        scale = math.sqrt(len(sums) / freedom)
    return Clustered(mean, len(values), freedom, {cluster: scale * x for cluster, x in sums.items()})


def total(first: Clustered, second: Clustered) -> Clustered:
    """Return the sum of two estimates.

    Without common clusters, its degrees of freedom are Welch's; otherwise, the smaller of the two.
    """
    influence = dict(first.influence)
    for cluster, x in second.influence.items():
        influence[cluster] = influence.get(cluster, 0.0) + x
    if len(influence) < len(first.influence) + len(second.influence):
        freedom = min(first.freedom, second.freedom)
    else:
        freedom = _welch(first, second)
    return Clustered(first.value + second.value, first.n + second.n, freedom, influence)


def difference(first: Clustered, second: Clustered) -> Clustered:
    """Return the first estimate minus the second."""
    return total(first, second.times(-1.0))


def _welch(first: Clustered, second: Clustered) -> float:
    if not (first.freedom > 0 and second.freedom > 0):
        return 0
    first_variance, second_variance = first.error**2, second.error**2
    if first_variance + second_variance == 0:
        return min(first.freedom, second.freedom)
    weights = first_variance**2 / first.freedom + second_variance**2 / second.freedom
    return (first_variance + second_variance) ** 2 / weights


def beta_interval(share: float, n: float) -> tuple[float, float]:
    """Return the exact 95 % interval of a share of `n` independent answers; neither needs to be a whole number."""
    from scipy import stats

    yes, tail = share * n, (1 - LEVEL) / 2
    low, high = 0.0, 1.0
    if yes > 0:
        low = float(stats.beta.ppf(tail, yes, n - yes + 1))
    if yes < n:
        high = float(stats.beta.ppf(1 - tail, yes + 1, n - yes))
    return low, high


@dataclass(frozen=True, slots=True)
class Proportion:
    """How many of `n` answers were yes."""

    yes: int
    n: int

    @property
    def value(self) -> float:
        """Return the share; NaN without answers."""
        return self.yes / self.n if self.n else math.nan

    @property
    def ci(self) -> tuple[float, float] | None:
        """Return the exact 95 % interval; None without answers."""
        if not self.n:
            return None
        interval = self._test(0.5).proportion_ci(LEVEL, method="exact")
        return float(interval.low), float(interval.high)

    def p(self, chance: float) -> float:
        """Return the two-sided p-value of the exact binomial test of a probability; NaN without answers."""
        return float(self._test(chance).pvalue) if self.n else math.nan

    def _test(self, chance: float):  # type: ignore[no-untyped-def]
        from scipy import stats

        return stats.binomtest(self.yes, self.n, chance)

# SPDX-License-Identifier: Apache-2.0
"""Means of values in clusters, such as replies in dialogues, and their differences, with t intervals.

An estimate keeps the influence of each cluster c on it: for the mean m of n values in G clusters,

    influence(c) = √(G / (G − 1)) · Σ_{i in c} (x_i − m) / n,        standard error = √(Σ_c influence(c)²).

The influence on a difference is the difference of the influences. Clusters that both estimates share therefore pair
them, and estimates without a common cluster are independent.
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
        """Standard error; NaN for fewer than two clusters."""
        return math.sqrt(math.fsum(x * x for x in self.influence.values())) if self.freedom > 0 else math.nan

    @property
    def ci(self) -> tuple[float, float] | None:
        """The 95 % interval, or None if the error is unknown."""
        half = self.quantile((1 + LEVEL) / 2) * self.error
        return None if math.isnan(half) else (self.value - half, self.value + half)

    def ci_within(self, low: float, high: float) -> tuple[float, float] | None:
        """The 95 % interval of a mean on a scale, computed on log-odds so that it stays on the scale.

        None if the error is unknown or 0: values that are all equal do not show how much they vary.
        """
        share = (self.value - low) / (high - low)
        half = self.quantile((1 + LEVEL) / 2) * self.error / (high - low)
        if not (0 < share < 1 and half > 0):
            return None
        center, half = math.log(share / (1 - share)), half / (share * (1 - share))
        first, last = (low + (high - low) * (1 + math.tanh(z / 2)) / 2 for z in (center - half, center + half))
        return first, last

    @property
    def skewness(self) -> float:
        """Skewness of the estimate, that of the values divided by √n; 0 if the error is unknown or 0."""
        if not self.error > 0:
            return 0.0
        return math.fsum((x / self.error) ** 3 for x in self.influence.values())

    def skewed_ci(self, skewness: float) -> tuple[float, float] | None:
        """The 95 % interval, longer on the side of the tail if the estimate is skewed.

        Johnson (1978): with a = |skewness|, the quantile t becomes t + a (1 + 2 t²) / 6 there. The other side, where t
        is cautious, keeps it.
        """
        if self.ci is None:
            return None
        quantile = self.quantile((1 + LEVEL) / 2)
        further = abs(skewness) * (1 + 2 * quantile**2) / 6
        below, above = (quantile + further, quantile) if skewness < 0 else (quantile, quantile + further)
        return self.value - below * self.error, self.value + above * self.error

    def skewed_p(self, skewness: float) -> float:
        """Two-sided p-value of a true value of 0: below 5 % if and only if `skewed_ci` excludes 0.

        NaN if the error is unknown or 0.
        """
        if not self.error > 0:
            return math.nan
        t = abs(self.value) / self.error
        tail = abs(skewness) if skewness * self.value < 0 else 0.0  # whether 0 is on the side of the tail
        if tail:  # the quantile q with q + tail (1 + 2 q²) / 6 = t
            t = max(0.0, (math.sqrt(max(0.0, 1 + 4 * tail / 3 * (t - tail / 6))) - 1) / (2 * tail / 3))
        return min(1.0, 2 * t_probability(-t, self.freedom))

    @property
    def detectable(self) -> float:
        """Smallest true value that differs significantly from 0 with a probability of 80 % (two-sided, 5 %).

        NaN if all values are equal: they do not show how much values vary.
        """
        return (self.quantile((1 + LEVEL) / 2) + self.quantile(POWER)) * (self.error or math.nan)

    def quantile(self, probability: float) -> float:
        """Quantile of Student's t; NaN if the error is unknown."""
        return t_quantile(probability, self.freedom)

    def times(self, factor: float) -> Clustered:
        """The estimate in other units."""
        scaled = {cluster: factor * x for cluster, x in self.influence.items()}
        return replace(self, value=factor * self.value, influence=scaled)


def pooled_skewness(first: Clustered, second: Clustered) -> float:
    """Skewness of the difference of two independent means, if the values of both have one shape.

    The larger group shows how skewed values are; a small one may have no extreme value yet.
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
    """Quantile of Student's t; NaN without degrees of freedom."""
    from scipy import stats

    return float(stats.t.ppf(probability, freedom)) if freedom > 0 else math.nan


def t_probability(value: float, freedom: float) -> float:
    """Probability of a smaller value of Student's t; NaN without degrees of freedom."""
    from scipy import stats

    return float(stats.t.cdf(value, freedom)) if freedom > 0 else math.nan


def cluster_mean(values: Array, clusters: Sequence[str], *, lost: int = 1) -> Clustered:
    """Mean of values and the influence of each cluster; `lost` degrees of freedom were used by the estimation."""
    if not len(values):
        return Clustered(math.nan, 0, 0, {})
    mean = float(values.mean())
    sums: dict[str, float] = {}
    for cluster, residual in zip(clusters, (values - mean) / len(values), strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + float(residual)
    freedom = max(0, len(sums) - lost)
    scale = math.sqrt(len(sums) / freedom) if freedom else math.nan
    return Clustered(mean, len(values), freedom, {cluster: scale * x for cluster, x in sums.items()})


def total(first: Clustered, second: Clustered) -> Clustered:
    """Sum of two estimates. Without common clusters its degrees of freedom are Welch's, otherwise the fewer of both."""
    influence = dict(first.influence)
    for cluster, x in second.influence.items():
        influence[cluster] = influence.get(cluster, 0.0) + x
    shared = len(influence) < len(first.influence) + len(second.influence)
    freedom = min(first.freedom, second.freedom) if shared else _welch(first, second)
    return Clustered(first.value + second.value, first.n + second.n, freedom, influence)


def difference(first: Clustered, second: Clustered) -> Clustered:
    """First minus second."""
    return total(first, second.times(-1.0))


def _welch(first: Clustered, second: Clustered) -> float:
    if not (first.freedom > 0 and second.freedom > 0):
        return 0
    one, other = first.error**2, second.error**2
    if one + other == 0:
        return min(first.freedom, second.freedom)
    return (one + other) ** 2 / (one**2 / first.freedom + other**2 / second.freedom)

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

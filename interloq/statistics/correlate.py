# SPDX-License-Identifier: Apache-2.0
"""Pearson's r, Spearman's ρ (average ranks) and Kendall's τ-b: for two vectors, row by row, and over resamples.

A resample is a vector of counts: how often each point was drawn. Every coefficient is computed from the counts and
equals the coefficient of the resampled points: Pearson from weighted sums, Spearman from mid-ranks that come from
cumulative counts of tie groups, and Kendall from one matrix of signs,

    τ_b = Σ_ij w_i w_j sgn(x_i − x_j) sgn(y_i − y_j) / √(u_x · u_y),   u_x = n² − Σ_t c_t²  (pairs not tied in x).

Undefined is NaN with a note, never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from interloq.errors import count
from interloq.statistics.coefficients import BUILT_IN, Coefficients, Correlation, number
from interloq.statistics.correlation import BY_ROW, constant, dot, ratio
from interloq.statistics.estimate import COEFFICIENTS, Array, Estimate
from interloq.statistics.resampling import bootstrap_counts, cluster_counts

Counts = NDArray[np.int64]
MATRIX_LIMIT = 5000  # points up to which a matrix of signs is faster than one sort per resample for Kendall
ROWS_LIMIT = 200  # the same for a single pair of vectors
EXACT_LIMIT = 8  # points up to which Spearman's p-value is exact, from all orders: 8! = 40,320
TWO_POINTS = "only two points: uninformative"


def coefficients(x: Array, y: Array, *, chosen: Coefficients = BUILT_IN) -> dict[str, Estimate]:
    """Return coefficients with two-sided p-values (none for user-defined functions); NaN with a note if undefined."""
    n, why = len(x), undefined(x, y)
    if why:
        return {name: Estimate(float("nan"), n, note=why) for name in chosen}
    if n == 2:
        sign = 1.0 if (x[1] > x[0]) == (y[1] > y[0]) else -1.0
        return {name: Estimate(sign, n, note=TWO_POINTS) for name in chosen}
    built_in: dict[str, Estimate] = {}
    estimates = {}
    for name, coefficient in chosen.items():
        if isinstance(coefficient, str):
            built_in = built_in or _built_in(x, y)
            estimates[name] = built_in[coefficient]
        else:
            estimates[name] = Estimate(number(coefficient, x, y), n)
    return estimates


def _built_in(x: Array, y: Array) -> dict[str, Estimate]:
    """Return the three built-in coefficients of at least three points."""
    n = len(x)
    tests = (stats.pearsonr(x, y), stats.spearmanr(x, y), stats.kendalltau(x, y))
    estimates = {}
    for name, test in zip(COEFFICIENTS, tests, strict=True):
        estimates[name] = Estimate(float(test.statistic), n, p=float(test.pvalue))
    if n <= EXACT_LIMIT:  # scipy's t approximation would give p = 0 for four points in perfect order
        estimates["spearman"] = replace(estimates["spearman"], p=_exact_spearman_p(x, y))
    return estimates


def _exact_spearman_p(x: Array, y: Array) -> float:
    """Return the share of all orders of y for which |ρ| is at least as large as observed."""
    first, second = (stats.rankdata(z) - (len(z) + 1) / 2 for z in (x, y))
    products = np.abs(second[_orders(len(x))] @ first)  # the first order is the one observed
    return float((products >= products[0] - 1e-9).mean())


@cache
def _orders(n: int) -> NDArray[np.intp]:
    return np.array(list(permutations(range(n))), dtype=np.intp)


def values(x: Array, y: Array, *, chosen: Coefficients = BUILT_IN) -> dict[str, float]:
    """Return coefficients without p-values: faster, for many pairs of annotators. NaN for fewer than three points."""
    if len(x) < 3 or undefined(x, y):
        return dict.fromkeys(chosen, float("nan"))
    by_name = {}
    for name, coefficient in chosen.items():
        if coefficient == "kendall" and len(x) > ROWS_LIMIT:  # a matrix of signs would be slower
            by_name[name] = _kendall(x, y)
        else:
            by_name[name] = float(by_rows(coefficient, x[None], y[None])[0])
    return by_name


def undefined(x: Array, y: Array) -> str:
    """Return why the coefficients are undefined, or an empty string."""
    if len(x) < 2:
        return f"{count(len(x), 'point')}: nothing to correlate"
    flat = []
    if constant(x):
        flat.append("scores")
    if constant(y):
        flat.append("judgments")
    return f"constant {' and '.join(flat)}" if flat else ""


def complete(*columns: Array) -> NDArray[np.intp]:
    """Return the indices of the samples that have a number in every column."""
    return np.flatnonzero(~np.isnan(np.array(columns)).any(axis=0))


# ---- many rows at once -----------------------------------------------------------------------------------------------


def by_rows(one: str | Correlation, x: Array, y: Array) -> Array:
    """Return one coefficient per row of two matrices of the same shape; NaN if a row is constant or contains NaN."""
    if not isinstance(one, str):
        missing = constant(x) | constant(y) | np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1)
        return np.array([np.nan if gone else number(one, *row) for gone, *row in zip(missing, x, y, strict=True)])
    return BY_ROW[one](x, y)


# ---- resamples as counts ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ties:
    """Sorted and grouped values of a vector, so that mid-ranks can be computed from counts alone."""

    order: NDArray[np.intp]
    starts: NDArray[np.intp]  # of each group in `order`
    group: NDArray[np.intp]  # of each point

    @classmethod
    def of(cls, x: Array) -> Ties:
        """Return the tie groups of a vector."""
        order = np.argsort(x, kind="stable")
        new = np.diff(x[order], prepend=np.nan) != 0
        group = np.empty(len(x), dtype=np.intp)
        group[order] = np.cumsum(new) - 1
        return cls(order, np.flatnonzero(new), group)

    def counts(self, drawn: Counts) -> Counts:
        """Return the number of points of each group in each resample."""
        return np.asarray(np.add.reduceat(drawn[:, self.order], self.starts, axis=1))

    def midranks(self, counts: Counts) -> Array:
        """Return the average rank of each point in each resample."""
        return np.asarray((np.cumsum(counts, axis=1) - (counts - 1) / 2)[:, self.group])


def resampled(
    x: Array,
    y: Array,
    *,
    n_bootstrap: int,
    seed: int,
    chosen: Coefficients = BUILT_IN,
    cluster: Counts | None = None,
) -> dict[str, Array]:
    """Return each coefficient in each bootstrap resample of the points, or of whole clusters.

    It is NaN in a constant resample. `cluster` is the number of each point's cluster, from 0.
    """
    if cluster is None:
        draws = bootstrap_counts(len(x), n_bootstrap, seed)
    else:
        draws = cluster_counts(cluster, n_bootstrap, seed)
    x_ties, y_ties = Ties.of(x), Ties.of(y)
    signs = None
    if len(x) <= MATRIX_LIMIT:
        signs = _signs(x_ties.group) * _signs(y_ties.group)
    parts: dict[str, list[Array]] = {name: [] for name in chosen}
    for drawn in draws:
        x_counts, y_counts = x_ties.counts(drawn), y_ties.counts(drawn)
        pairs = drawn.sum(axis=1) ** 2
        untied = [pairs - dot(x_counts, x_counts), pairs - dot(y_counts, y_counts)]
        some = np.where((untied[0] > 0) & (untied[1] > 0), 1.0, np.nan)
        for name, coefficient in chosen.items():
            if coefficient == "pearson":
                values = some * _weighted_pearson(x[None], y[None], drawn)
            elif coefficient == "spearman":
                values = some * _weighted_pearson(x_ties.midranks(x_counts), y_ties.midranks(y_counts), drawn)
            elif coefficient == "kendall" and signs is not None:
                values = _kendall_by_signs(signs, drawn, untied)
            elif isinstance(coefficient, str):
                values = _by_loop(_kendall, x, y, drawn, some)
            else:
                values = _by_loop(coefficient, x, y, drawn, some)
            parts[name].append(values)
    return {name: np.concatenate(part) for name, part in parts.items()}


def _weighted_pearson(x: Array, y: Array, drawn: Counts) -> Array:
    """Return Pearson's r per resample, from centred products, so that no digits cancel at any scale."""
    weights = drawn.astype(np.float64)
    n = weights.sum(axis=1, keepdims=True)
    x, y = (z - dot(weights, np.broadcast_to(z, weights.shape))[:, None] / n for z in (x, y))
    heavy = weights * x
    return ratio(dot(heavy, y), dot(heavy, x), dot(weights * y, y))


def _kendall_by_signs(signs: NDArray[np.float32], drawn: Counts, untied: Sequence[Array]) -> Array:
    concordant = drawn.astype(np.float32) @ signs  # sums of integers this small are exact in single precision
    return ratio(dot(concordant.astype(np.float64), drawn), untied[0], untied[1])


def _by_loop(function: Correlation, x: Array, y: Array, drawn: Counts, some: Array) -> Array:
    """Apply a function to the points of each resample; also for τ-b of sets too large for a matrix of signs."""
    values = some.copy()
    for i in np.flatnonzero(~np.isnan(some)):
        points = np.repeat(np.arange(len(x)), drawn[i])
        values[i] = number(function, x[points], y[points])
    return values


def _kendall(x: Array, y: Array) -> float:
    return float(stats.kendalltau(x, y).statistic)


def _signs(group: NDArray[np.intp]) -> NDArray[np.float32]:
    ranks = group.astype(np.float32)
    return np.asarray(np.sign(ranks[:, None] - ranks[None, :]))

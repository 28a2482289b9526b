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
from interloq.meta.coefficients import BUILT_IN, Coefficients, Correlation, number
from interloq.meta.table import COEFFICIENTS, Estimate
from interloq.metrics.evaluate import bootstrap_counts, cluster_counts
from interloq.metrics.metric import Array
from interloq.statistics.correlation import BY_ROW, constant, dot, ratio

Counts = NDArray[np.int64]
MATRIX_LIMIT = 5000  # points up to which a matrix of signs is faster than one sort per resample for Kendall
ROWS_LIMIT = 200  # the same for a single pair of vectors
EXACT_LIMIT = 8  # points up to which Spearman's p-value is exact, from all orders: 8! = 40,320
TWO_POINTS = "only two points: uninformative"


def coefficients(x: Array, y: Array, *, chosen: Coefficients = BUILT_IN) -> dict[str, Estimate]:
    """Coefficients with two-sided p-values (none for user-defined functions); NaN with a note if undefined."""
    n, why = len(x), undefined(x, y)
    if why:
        return {name: Estimate(float("nan"), n, note=why) for name in chosen}
    if n == 2:
        sign = 1.0 if (x[1] > x[0]) == (y[1] > y[0]) else -1.0
        return {name: Estimate(sign, n, note=TWO_POINTS) for name in chosen}
    built_in = _built_in(x, y) if any(isinstance(one, str) for one in chosen.values()) else {}
    return {
        name: built_in[one] if isinstance(one, str) else Estimate(number(one, x, y), n) for name, one in chosen.items()
    }


def _built_in(x: Array, y: Array) -> dict[str, Estimate]:
    """The three built-in coefficients of at least three points."""
    n = len(x)
    tests = (stats.pearsonr(x, y), stats.spearmanr(x, y), stats.kendalltau(x, y))
    found = {
        name: Estimate(float(test.statistic), n, p=float(test.pvalue))
        for name, test in zip(COEFFICIENTS, tests, strict=True)
    }
    if n <= EXACT_LIMIT:  # scipy's t approximation would give p = 0 for four points in perfect order
        found["spearman"] = replace(found["spearman"], p=_exact_spearman_p(x, y))
    return found


def _exact_spearman_p(x: Array, y: Array) -> float:
    """Share of all orders of y for which |ρ| is at least as large as observed."""
    first, second = (stats.rankdata(z) - (len(z) + 1) / 2 for z in (x, y))
    products = np.abs(second[_orders(len(x))] @ first)  # the first order is the one observed
    return float((products >= products[0] - 1e-9).mean())


@cache
def _orders(n: int) -> NDArray[np.intp]:
    return np.array(list(permutations(range(n))), dtype=np.intp)


def values(x: Array, y: Array, *, chosen: Coefficients = BUILT_IN) -> dict[str, float]:
    """Coefficients without p-values: faster, for the many pairs of annotators. NaN for fewer than three points."""
    if len(x) < 3 or undefined(x, y):
        return dict.fromkeys(chosen, float("nan"))
    by_sorting = len(x) > ROWS_LIMIT  # a matrix of signs would be slower
    return {
        name: float(stats.kendalltau(x, y).statistic)
        if by_sorting and one == "kendall"
        else float(by_rows(one, x[None], y[None])[0])
        for name, one in chosen.items()
    }


def undefined(x: Array, y: Array) -> str:
    """Why the coefficients are undefined, or an empty string."""
    if len(x) < 2:
        return f"{count(len(x), 'point')}: nothing to correlate"
    flat = [what for what, column in (("scores", x), ("judgments", y)) if constant(column)]
    return f"constant {' and '.join(flat)}" if flat else ""


def complete(*columns: Array) -> NDArray[np.intp]:
    """Indices of the samples that have a number in every column."""
    return np.flatnonzero(~np.isnan(np.array(columns)).any(axis=0))


# ---- many rows at once -----------------------------------------------------------------------------------------------


def by_rows(one: str | Correlation, x: Array, y: Array) -> Array:
    """One coefficient per row of two matrices of the same shape; NaN if a row is constant or contains NaN."""
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
        """The tie groups of a vector."""
        order = np.argsort(x, kind="stable")
        new = np.diff(x[order], prepend=np.nan) != 0
        group = np.empty(len(x), dtype=np.intp)
        group[order] = np.cumsum(new) - 1
        return cls(order, np.flatnonzero(new), group)

    def counts(self, drawn: Counts) -> Counts:
        """Number of points of each group in each resample."""
        return np.asarray(np.add.reduceat(drawn[:, self.order], self.starts, axis=1))

    def midranks(self, counts: Counts) -> Array:
        """Average rank of each point in each resample."""
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
    """Each coefficient in each bootstrap resample of the points, or of whole clusters; NaN if a resample is constant.

    `cluster` is the number of each point's cluster, from 0.
    """
    draws = (
        bootstrap_counts(len(x), n_bootstrap, seed) if cluster is None else cluster_counts(cluster, n_bootstrap, seed)
    )
    ties = Ties.of(x), Ties.of(y)
    signs = _signs(ties[0].group) * _signs(ties[1].group) if len(x) <= MATRIX_LIMIT else None
    parts: dict[str, list[Array]] = {name: [] for name in chosen}
    for drawn in draws:
        counts = [tie.counts(drawn) for tie in ties]
        ranks = [tie.midranks(c) for tie, c in zip(ties, counts, strict=True)]
        untied = [drawn.sum(axis=1) ** 2 - dot(c, c) for c in counts]
        some = np.where((untied[0] > 0) & (untied[1] > 0), 1.0, np.nan)
        for name, one in chosen.items():
            if one == "pearson":
                found = some * _weighted_pearson(x[None], y[None], drawn)
            elif one == "spearman":
                found = some * _weighted_pearson(ranks[0], ranks[1], drawn)
            elif one == "kendall" and signs is not None:
                found = _kendall_by_signs(signs, drawn, untied)
            else:
                found = _by_loop(_kendall if isinstance(one, str) else one, x, y, drawn, some)
            parts[name].append(found)
    return {name: np.concatenate(part) for name, part in parts.items()}


def _weighted_pearson(x: Array, y: Array, drawn: Counts) -> Array:
    """Pearson's r per resample, from centred products, so that no digits cancel at any scale."""
    weights = drawn.astype(np.float64)
    n = weights.sum(axis=1, keepdims=True)
    x, y = (z - dot(weights, np.broadcast_to(z, weights.shape))[:, None] / n for z in (x, y))
    heavy = weights * x
    return ratio(dot(heavy, y), dot(heavy, x), dot(weights * y, y))


def _kendall_by_signs(signs: NDArray[np.float32], drawn: Counts, untied: Sequence[Array]) -> Array:
    concordant = drawn.astype(np.float32) @ signs  # sums of integers this small are exact in single precision
    return ratio(dot(concordant.astype(np.float64), drawn), untied[0], untied[1])


def _by_loop(function: Correlation, x: Array, y: Array, drawn: Counts, some: Array) -> Array:
    """A function of the points of each resample; also for τ-b of sets too large for a matrix of signs."""
    found = some.copy()
    for i in np.flatnonzero(~np.isnan(some)):
        points = np.repeat(np.arange(len(x)), drawn[i])
        found[i] = number(function, x[points], y[points])
    return found


def _kendall(x: Array, y: Array) -> float:
    return float(stats.kendalltau(x, y).statistic)


def _signs(group: NDArray[np.intp]) -> NDArray[np.float32]:
    ranks = group.astype(np.float32)
    return np.asarray(np.sign(ranks[:, None] - ranks[None, :]))

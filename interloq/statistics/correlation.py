# SPDX-License-Identifier: Apache-2.0
"""Pearson's r, Spearman's ρ (average ranks) and Kendall's τ-b: for two vectors, row by row, and over resamples.

Instead of these, a user may give any function `corr(x, y)` of two vectors of equal length that returns a number, or a
scipy result with a `statistic`. It must not depend on the scale of its arguments, because they are standardised over
systems and in permutation tests.

A resample is a vector of counts: how often each point was drawn. Every coefficient is computed from the counts and
equals the coefficient of the resampled points: Pearson from weighted sums, Spearman from mid-ranks that come from
cumulative counts of tie groups, and Kendall from one matrix of signs,

    τ_b = Σ_ij w_i w_j sgn(x_i − x_j) sgn(y_i − y_j) / √(u_x · u_y),   u_x = n² − Σ_t c_t²  (pairs not tied in x).

An undefined coefficient is NaN with a note, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from interloq.errors import InputError, count, nearest
from interloq.statistics.estimate import COEFFICIENTS, Array, Estimate
from interloq.statistics.resampling import bootstrap_counts, cluster_counts

Correlation = Callable[[Array, Array], Any]
Coefficients = Mapping[str, str | Correlation]  # name in the table → name of a built-in coefficient, or a function
BUILT_IN: Coefficients = {name: name for name in COEFFICIENTS}
Counts = NDArray[np.int64]
BLOCK = 2**21  # numbers in memory at a time
NEARLY_CONSTANT = 1e-13  # range relative to size, below which differences are rounding errors
MATRIX_LIMIT = 5000  # points up to which a matrix of signs is faster than one sort per resample for Kendall
ROWS_LIMIT = 200  # the same for a single pair of vectors
EXACT_LIMIT = 8  # points up to which Spearman's p-value is exact, from all orders: 8! = 40,320
TWO_POINTS = "only two points: uninformative"


def check_coefficients(coefficients: Coefficients | Iterable[str | Correlation]) -> Coefficients:
    """Check and name coefficients given as a mapping from names to functions, or as a list of names and functions."""
    if isinstance(coefficients, str) or callable(coefficients):
        coefficients = [coefficients]
    if isinstance(coefficients, Mapping):
        pairs = list(coefficients.items())
    else:
        pairs = [(_name(coefficient), coefficient) for coefficient in coefficients]
    by_name: dict[str, str | Correlation] = {}
    for name, coefficient in pairs:
        if not (callable(coefficient) or coefficient in COEFFICIENTS):
            what = f"unknown coefficient {coefficient!r}{nearest(str(coefficient), COEFFICIENTS)}"
            raise InputError(what, hint="or give a function corr(x, y)")
        if name in by_name:
            hint = "rename one: coefficients={'mine': function}"
            raise InputError(f"two coefficients are called {name!r}", hint=hint)
        by_name[name] = coefficient
    if not by_name:
        raise InputError("no coefficient is given", hint=f"built in: {', '.join(COEFFICIENTS)}")
    return by_name


def signature_part(coefficients: Coefficients) -> str:
    """Return the text that names the coefficients in a signature; empty for the built-in ones."""
    if coefficients == BUILT_IN:
        return ""
    parts = []
    for name, coefficient in coefficients.items():
        if isinstance(coefficient, str):
            parts.append(coefficient)
        else:
            function = getattr(coefficient, "__qualname__", _name(coefficient))
            parts.append(f"{name}={getattr(coefficient, '__module__', '')}.{function}")
    return ",".join(parts)


def apply_function(function: Correlation, x: Array, y: Array) -> float:
    """Return the value of a user-defined function for two vectors; NaN if it is not finite."""
    returned = function(x, y)
    value: Any = getattr(returned, "statistic", returned)
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise InputError(f"coefficient {_name(function)!r} must return a number, got {value!r:.60}") from None
    return value if math.isfinite(value) else math.nan


def _name(coefficient: str | Correlation) -> str:
    if isinstance(coefficient, str):
        return coefficient
    return getattr(coefficient, "__name__", type(coefficient).__name__)


def is_constant(x: Array) -> Any:
    """Return whether all values along the last axis are equal up to rounding."""
    return np.ptp(x, axis=-1) <= NEARLY_CONSTANT * np.abs(x).max(axis=-1)


def pearson_rows(x: Array, y: Array) -> Array:
    """Return Pearson's r per row."""
    flat = is_constant(x) | is_constant(y)
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    coefficient = ratio(dot(x, y), dot(x, x), dot(y, y))
    coefficient[flat] = np.nan  # rounding may leave a tiny variance
    return coefficient


def spearman_rows(x: Array, y: Array) -> Array:
    """Return Spearman's ρ per row."""
    return pearson_rows(midranks(x), midranks(y))


def kendall_rows(x: Array, y: Array) -> Array:
    """Return Kendall's τ-b per row, from matrices of signs."""
    x, y = np.broadcast_arrays(x, y)
    step = max(1, BLOCK // max(1, x.shape[1] ** 2))
    parts = [np.zeros(0)]
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        a, b = _row_signs(x[rows]), _row_signs(y[rows])
        parts.append(ratio((a * b).sum(axis=(1, 2)), np.abs(a).sum(axis=(1, 2)), np.abs(b).sum(axis=(1, 2))))
    return np.concatenate(parts)


def _row_signs(x: Array) -> Array:
    return np.asarray(np.sign(x[:, :, None] - x[:, None, :]))


def midranks(x: Array) -> Array:
    """Return ranks along the last axis; ties share their mean rank."""
    return np.asarray(stats.rankdata(x, axis=-1), dtype=np.float64)


def dot(x: NDArray[Any], y: NDArray[Any]) -> Array:
    """Return the dot product of each row."""
    return np.asarray(np.einsum("ij,ij->i", x, y), dtype=np.float64)


def ratio(product: Array, first: Array, second: Array) -> Array:
    """Return product / √(first · second), clipped to [−1, 1]; NaN if either factor is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.clip(product / (np.sqrt(first) * np.sqrt(second)), -1.0, 1.0)
    return np.where((first > 0) & (second > 0), ratio, np.nan)


BY_ROW = {"pearson": pearson_rows, "spearman": spearman_rows, "kendall": kendall_rows}


def by_rows(coefficient: str | Correlation, x: Array, y: Array) -> Array:
    """Return one coefficient per row of two matrices of the same shape; NaN if a row is constant or contains NaN."""
    if isinstance(coefficient, str):
        return BY_ROW[coefficient](x, y)
    undefined_rows = is_constant(x) | is_constant(y) | np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1)
    values = np.full(len(x), np.nan)
    for i in np.flatnonzero(~undefined_rows):
        values[i] = apply_function(coefficient, x[i], y[i])
    return values


def coefficients(x: Array, y: Array, *, chosen: Coefficients = BUILT_IN) -> dict[str, Estimate]:
    """Return coefficients with two-sided p-values (none for user-defined functions); NaN with a note if undefined."""
    n, why = len(x), explain_undefined(x, y)
    if why:
        return {name: Estimate(float("nan"), n, note=why) for name in chosen}
    if n == 2:
        sign = 1.0 if (x[1] > x[0]) == (y[1] > y[0]) else -1.0
        return {name: Estimate(sign, n, note=TWO_POINTS) for name in chosen}
    built_in: dict[str, Estimate] = {}
    estimates = {}
    for name, coefficient in chosen.items():
        if isinstance(coefficient, str):
            built_in = built_in or _estimate_built_in(x, y)
            estimates[name] = built_in[coefficient]
        else:
            estimates[name] = Estimate(apply_function(coefficient, x, y), n)
    return estimates


def _estimate_built_in(x: Array, y: Array) -> dict[str, Estimate]:
    """Return the three built-in coefficients of at least three points."""
    n = len(x)
    tests = (stats.pearsonr(x, y), stats.spearmanr(x, y), stats.kendalltau(x, y))
    estimates = {}
    for name, test in zip(COEFFICIENTS, tests, strict=True):
        estimates[name] = Estimate(float(test.statistic), n, p=float(test.pvalue))
    if n <= EXACT_LIMIT:  # scipy's t approximation would give p = 0 for four points in perfect order
        middle = (n + 1) / 2
        first, second = stats.rankdata(x) - middle, stats.rankdata(y) - middle
        products = np.abs(second[_orders(n)] @ first)  # of all orders of y; the first is the one observed
        estimates["spearman"] = replace(estimates["spearman"], p=float((products >= products[0] - 1e-9).mean()))
    return estimates


@cache
def _orders(n: int) -> NDArray[np.intp]:
    return np.array(list(permutations(range(n))), dtype=np.intp)


def values(x: Array, y: Array, *, chosen: Coefficients = BUILT_IN) -> dict[str, float]:
    """Return coefficients without p-values: faster, for many pairs of annotators. NaN for fewer than three points."""
    if len(x) < 3 or explain_undefined(x, y):
        return dict.fromkeys(chosen, float("nan"))
    by_name = {}
    for name, coefficient in chosen.items():
        if coefficient == "kendall" and len(x) > ROWS_LIMIT:  # a matrix of signs would be slower
            by_name[name] = _kendall(x, y)
        else:
            by_name[name] = float(by_rows(coefficient, x[None], y[None])[0])
    return by_name


def explain_undefined(x: Array, y: Array) -> str:
    """Return why the coefficients are undefined, or an empty string."""
    if len(x) < 2:
        return f"{count(len(x), 'point')}: nothing to correlate"
    flat = []
    if is_constant(x):
        flat.append("scores")
    if is_constant(y):
        flat.append("judgments")
    return f"constant {' and '.join(flat)}" if flat else ""


def complete_rows(*columns: Array) -> NDArray[np.intp]:
    """Return the indices of the samples that have a number in every column."""
    return np.flatnonzero(~np.isnan(np.array(columns)).any(axis=0))


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


def resample_coefficients(
    x: Array, y: Array, *, n_bootstrap: int, seed: int, chosen: Coefficients = BUILT_IN, cluster: Counts | None = None
) -> dict[str, Array]:
    """Return each coefficient in each bootstrap resample of the points, or of whole clusters.

    A coefficient is NaN in a constant resample. `cluster` is the number of each point's cluster, from 0.
    """
    if cluster is None:
        draws = bootstrap_counts(len(x), n_bootstrap, seed)
    else:
        draws = cluster_counts(cluster, n_bootstrap, seed)
    x_ties, y_ties = Ties.of(x), Ties.of(y)
    signs = None
    if len(x) <= MATRIX_LIMIT:
        signs = sign_matrix(x_ties.group, x_ties.group) * sign_matrix(y_ties.group, y_ties.group)
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
                # sums of integers this small are exact in single precision
                concordant = (drawn.astype(np.float32) @ signs).astype(np.float64)
                values = ratio(dot(concordant, drawn), untied[0], untied[1])
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


def _by_loop(function: Correlation, x: Array, y: Array, drawn: Counts, some: Array) -> Array:
    """Apply a function to the points of each resample; used for τ-b too if a set is too large for a sign matrix."""
    values = some.copy()
    for i in np.flatnonzero(~np.isnan(some)):
        points = np.repeat(np.arange(len(x)), drawn[i])
        values[i] = apply_function(function, x[points], y[points])
    return values


def _kendall(x: Array, y: Array) -> float:
    return float(stats.kendalltau(x, y).statistic)


def sign_matrix(rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.float32]:
    """Return signs of differences of ranks: multiples of ½, small enough to be exact in single precision."""
    return np.asarray(np.sign(np.subtract.outer(rows.astype(np.float32), columns.astype(np.float32))))

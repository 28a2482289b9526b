# SPDX-License-Identifier: Apache-2.0
"""Tests of whether one metric's correlation with people is higher than another's, and corrections for many tests.

Williams (1959), for two correlations that share one variable; r12 and r13 are the metrics' correlations with people and
r23 the correlation of the metrics with each other; t has n − 3 degrees of freedom:

    t = (r12 − r13) · √[(n − 1)(1 + r23) / (2K (n − 1)/(n − 3) + r̄² (1 − r23)³)],
    K = 1 − r12² − r13² − r23² + 2 r12 r13 r23,   r̄ = (r12 + r13)/2.

The permutation test randomly swaps the two metrics' scores of each sample (PERM-BOTH of Deutsch, Dror and Roth, 2021),
after putting both on one scale: z-scores for Pearson, mid-ranks for Spearman and Kendall. Its p-value is two-sided,
(1 + permutations with a difference at least as large) / (1 + permutations).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from interloq.statistics.correlation import BLOCK, Correlation, by_rows, is_constant, midranks, sign_matrix
from interloq.statistics.estimate import Array
from interloq.statistics.rounding import RELATIVE

Adjust = Literal["holm", "bh"]
Swaps = NDArray[np.float64]  # one row per permutation; 1 for samples whose two scores are swapped
PAIR_LIMIT = 3000  # samples up to which matrices of signs are faster than two sorts per permutation, and fit in memory
LEAST = 1_000  # permutations per test
EXACT = 1 << 16  # permutations up to which all are tried


def williams(r12: float, r13: float, r23: float, n: int) -> float | None:
    """Return the two-sided p-value of r12 against r13, or None if undefined."""
    if n < 4 or any(math.isnan(r) for r in (r12, r13, r23)) or r23 > 1 - RELATIVE:
        return None
    k = max(0.0, 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23)
    spread = 2 * k * (n - 1) / (n - 3) + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    if spread <= 0:
        return None
    t = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / spread)
    return float(2 * stats.t.sf(abs(t), n - 3))


def permutation_p(differences: Array, *, size: float = 1.0) -> float | None:
    """Return the two-sided p-value from the observed difference and the defined differences after permutations.

    `size` is the size of the compared numbers; differences that are tiny beside it count as equal.
    """
    observed, exchanged = differences[0], differences[1:][~np.isnan(differences[1:])]
    if math.isnan(observed) or not len(exchanged):
        return None
    as_large = np.abs(exchanged) >= abs(observed) - RELATIVE * size
    return float((1 + as_large.sum()) / (1 + len(exchanged)))


def adjust_p_values(p_values: Sequence[float | None], how: Adjust = "holm") -> list[float | None]:
    """Return adjusted p-values of one family; None stays None and is not counted."""
    known = [i for i, p in enumerate(p_values) if p is not None]
    adjusted_p = list(p_values)
    if not known:
        return adjusted_p
    family = np.array([p_values[i] for i in known], dtype=np.float64)
    family = _holm(family) if how == "holm" else stats.false_discovery_control(family, method="bh")
    for i, p in zip(known, family.tolist(), strict=True):
        adjusted_p[i] = p
    return adjusted_p


def _holm(p_values: Array) -> Array:
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted_p = np.empty(len(p_values))
    adjusted_p[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted_p


def permutations_per_test(tests: int, chosen: int | None = None) -> int:
    """Return the chosen number, or enough for the smallest p-value to be about .01 after Holm's adjustment.

    With N permutations, no p-value is below 1 / (N + 1), so with a fixed N, a large family could never have a
    significant result.
    """
    if chosen is not None:
        return chosen
    return max(LEAST, 100 * tests)


def swaps(n: int, n_permutations: int, seed: int) -> Iterator[Swaps]:
    """Yield which of n samples are swapped, in blocks of bounded size: none in the first row, then random samples."""
    rng = np.random.default_rng(seed)
    step = max(1, 2 * BLOCK // max(n, 1))
    for start in range(0, n_permutations + 1, step):
        rows = min(step, n_permutations + 1 - start)
        drawn = rng.integers(2, size=(rows, n), dtype=np.int8).astype(np.float64)
        drawn[: start == 0] = 0.0
        yield drawn


def draw_swaps(n: int, n_permutations: int, seed: int) -> Iterator[NDArray[Any]]:
    """Yield which of n units are swapped, one row per permutation, none in the first: random, or all if few exist."""
    if 2**n <= min(n_permutations, EXACT):
        yield (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    else:
        yield from swaps(n, n_permutations, seed)


def reassignments(n: int, n_first: int, n_permutations: int, seed: int) -> Iterator[Array]:
    """Yield blocks of rows of 0 and 1: which of n units are in the first group; first as given, then at random."""
    rng = np.random.default_rng(seed)
    step = max(1, BLOCK // max(n, 1))
    observed = (np.arange(n) < n_first).astype(np.float64)
    for start in range(0, n_permutations + 1, step):
        rows = np.tile(observed, (min(step, n_permutations + 1 - start), 1))
        rows[start == 0 :] = rng.permuted(rows[start == 0 :], axis=1)
        yield rows


def z_scores(x: Array) -> Array:
    """Return values scaled to mean 0 and standard deviation 1 along the last axis; all 0 if they are constant."""
    if not x.size:
        return x
    flat = np.expand_dims(is_constant(x), -1)
    centred = np.where(flat, 0.0, x - x.mean(axis=-1, keepdims=True))
    return np.asarray(centred / np.where(flat, 1.0, np.sqrt((centred**2).mean(axis=-1, keepdims=True))))


def differences(coefficient: str | Correlation, first: Array, second: Array, y: Array, swapped: Swaps) -> Array:
    """Return the first metric's coefficient with people minus the second's, after each permutation."""
    if coefficient == "pearson":
        return pearson_differences(z_scores(first), z_scores(second), y, swapped)
    if coefficient == "spearman":
        return pearson_differences(midranks(first), midranks(second), midranks(y), swapped)
    if coefficient == "kendall":
        return kendall_differences(midranks(first), midranks(second), y, swapped)
    a, b = z_scores(first), z_scores(second)
    people = np.broadcast_to(z_scores(y), swapped.shape)
    first_values = by_rows(coefficient, a + swapped * (b - a), people)
    return first_values - by_rows(coefficient, b + swapped * (a - b), people)


def pearson_differences(first: Array, second: Array, y: Array, swapped: Swaps) -> Array:
    """Return r(first, y) − r(second, y) after each permutation; all sums are linear in the swaps."""
    y = y - y.mean()
    results = []
    for a, b in ((first, second), (second, first)):
        a, b = a - a.mean(), b - b.mean()
        columns = np.column_stack([(b - a) * y, b - a, b**2 - a**2])
        product, total, square = (swapped @ columns + [a @ y, a.sum(), a @ a]).T
        variance = square - total**2 / len(y)
        with np.errstate(invalid="ignore", divide="ignore"):
            results.append(product / np.sqrt(np.where(variance > RELATIVE, variance, np.nan) * (y @ y)))
    return np.asarray(results[0] - results[1])


def kendall_differences(first: Array, second: Array, y: Array, swapped: Swaps) -> Array:
    """Return τ_b(first, y) − τ_b(second, y) after each permutation; `first` and `second` are ranks.

    Both are quadratic in the swaps m: c + m·l + mᵀQm, with one Q for both. So are the counts of untied pairs.
    """
    if len(y) > PAIR_LIMIT:
        differences = np.full(len(swapped), np.nan)
        for i, swap in enumerate(swapped):
            a, b = np.where(swap, second, first), np.where(swap, first, second)
            if not (is_constant(a) or is_constant(b) or is_constant(y)):
                differences[i] = stats.kendalltau(a, y).statistic - stats.kendalltau(b, y).statistic
        return differences
    order = sign_matrix(midranks(y), midranks(y))
    signs = sign_matrix(first, first), sign_matrix(second, second), sign_matrix(first, second)
    concordant = _quadratic([sign * order for sign in signs], swapped)
    untied = _quadratic([np.abs(sign) for sign in signs], swapped)
    pairs = np.abs(order).sum(dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(concordant[0] / np.sqrt(untied[0] * pairs) - concordant[1] / np.sqrt(untied[1] * pairs))


def _quadratic(matrices: Sequence[NDArray[np.float32]], swapped: Swaps) -> tuple[Array, Array]:
    """Return Σ_ij of the matrix of the mixed vector, for the first and the second metric, after each permutation."""
    first, second, cross = matrices
    sums = [matrix.sum(axis=1, dtype=np.float64) for matrix in (first, second, cross, cross.T)]
    mixed = swapped.astype(np.float32) @ (first + second - cross - cross.T)  # integers, exact in single precision
    both = np.einsum("ij,ij->i", mixed.astype(np.float64), swapped)
    return (
        sums[0].sum() + swapped @ (2 * (sums[3] - sums[0])) + both,
        sums[1].sum() + swapped @ (2 * (sums[2] - sums[1])) + both,
    )

"""Is one metric's correlation with people really higher than another's? And how many such questions were asked?

Williams (1959), for two correlations that share one variable; r12 and r13 are the metrics' correlations with people and
r23 the correlation of the metrics with each other; t has n − 3 degrees of freedom:

    t = (r12 − r13) · √[(n − 1)(1 + r23) / (2K (n − 1)/(n − 3) + r̄² (1 − r23)³)],
    K = 1 − r12² − r13² − r23² + 2 r12 r13 r23,   r̄ = (r12 + r13)/2.

The permutation test exchanges the two metrics' scores of each sample at random (PERM-BOTH of Deutsch, Dror and Roth,
2021), after both were brought to one scale: z-scores for Pearson, mid-ranks for Spearman and Kendall. Its p-value is
two-sided, (1 + exchanges with a difference at least as large) / (1 + exchanges).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from interloq.meta.coefficients import Correlation
from interloq.meta.correlate import BLOCK, by_rows, constant
from interloq.metrics.metric import Array

Adjust = Literal["holm", "bh"]
Swaps = NDArray[np.float64]  # 1 where the two metrics change places, a row an exchange
PAIR_LIMIT = 3000  # samples up to which matrices of signs beat two sorts an exchange, and fit into memory
LEAST = 1_000  # permutations per test
TOLERANCE = 1e-12  # two differences closer than this are the same difference


def williams(r12: float, r13: float, r23: float, n: int, *, sides: Literal[1, 2] = 2) -> float | None:
    """The p-value of r12 against r13; one-sided asks whether r12 is the higher. None where it is undefined."""
    if n < 4 or any(math.isnan(r) for r in (r12, r13, r23)) or r23 > 1 - TOLERANCE:
        return None
    k = max(0.0, 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23)
    spread = 2 * k * (n - 1) / (n - 3) + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    if spread <= 0:
        return None
    t = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / spread)
    return float(stats.t.sf(t, n - 3) if sides == 1 else 2 * stats.t.sf(abs(t), n - 3))


def permutation_p(differences: Array) -> float | None:
    """Two-sided, from the observed difference and those after exchanges; undefined ones are left out."""
    observed, exchanged = differences[0], differences[1:][~np.isnan(differences[1:])]
    if math.isnan(observed) or not len(exchanged):
        return None
    as_large = np.abs(exchanged) >= abs(observed) - TOLERANCE
    return float((1 + as_large.sum()) / (1 + len(exchanged)))


def adjusted(p_values: Sequence[float | None], how: Adjust = "holm") -> list[float | None]:
    """p-values of one family, adjusted; those that do not exist stay out of it."""
    known = np.array([p for p in p_values if p is not None])
    if not len(known):
        return list(p_values)
    better = iter(_holm(known) if how == "holm" else stats.false_discovery_control(known, method="bh"))
    return [None if p is None else float(next(better)) for p in p_values]


def _holm(p_values: Array) -> Array:
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    found = np.empty(len(p_values))
    found[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return found


# ---- exchanging the scores of two metrics ----------------------------------------------------------------------------


def enough(tests: int, said: int | None = None) -> int:
    """Exchanges a test: as many as are `said`, or so many that the smallest p-value is near .01 when Holm adjusts it.

    N exchanges have no p-value below 1 / (N + 1): with a fixed N, a family that is large enough has nothing to find.
    """
    return max(LEAST, 100 * tests) if said is None else said


def swaps(n: int, n_permutations: int, seed: int) -> Iterator[Swaps]:
    """Which of n samples exchange their scores: nobody at first, then at random; in blocks of rows of bounded size."""
    rng = np.random.default_rng(seed)
    step = max(1, 2 * BLOCK // max(n, 1))
    for start in range(0, n_permutations + 1, step):
        rows = min(step, n_permutations + 1 - start)
        drawn = rng.integers(2, size=(rows, n), dtype=np.int8).astype(np.float64)
        drawn[: start == 0] = 0.0
        yield drawn


def z_scores(x: Array) -> Array:
    """Mean 0 and standard deviation 1 along the last axis; all 0 where it is constant."""
    if not x.size:
        return x
    flat = np.expand_dims(constant(x), -1)
    centred = np.where(flat, 0.0, x - x.mean(axis=-1, keepdims=True))
    return np.asarray(centred / np.where(flat, 1.0, np.sqrt((centred**2).mean(axis=-1, keepdims=True))))


def midranks(x: Array) -> Array:
    """Ranks along the last axis; ties share their mean rank."""
    return np.asarray(stats.rankdata(x, axis=-1), dtype=np.float64)


def differences(one: str | Correlation, first: Array, second: Array, y: Array, swapped: Swaps) -> Array:
    """One coefficient of the first metric with people minus that of the second, after each exchange."""
    if one == "pearson":
        return pearson_differences(z_scores(first), z_scores(second), y, swapped)
    if one == "spearman":
        return pearson_differences(midranks(first), midranks(second), midranks(y), swapped)
    if one == "kendall":
        return kendall_differences(midranks(first), midranks(second), y, swapped)
    a, b = z_scores(first), z_scores(second)
    people = np.broadcast_to(z_scores(y), swapped.shape)
    return by_rows(one, a + swapped * (b - a), people) - by_rows(one, b + swapped * (a - b), people)


def pearson_differences(first: Array, second: Array, y: Array, swapped: Swaps) -> Array:
    """r(first, y) − r(second, y) after each exchange: all sums are linear in the exchanges."""
    y = y - y.mean()
    results = []
    for a, b in ((first, second), (second, first)):
        a, b = a - a.mean(), b - b.mean()
        columns = np.column_stack([(b - a) * y, b - a, b**2 - a**2])
        product, total, square = (swapped @ columns + [a @ y, a.sum(), a @ a]).T
        variance = square - total**2 / len(y)
        with np.errstate(invalid="ignore", divide="ignore"):
            results.append(product / np.sqrt(np.where(variance > TOLERANCE, variance, np.nan) * (y @ y)))
    return np.asarray(results[0] - results[1])


def kendall_differences(first: Array, second: Array, y: Array, swapped: Swaps) -> Array:
    """τ_b(first, y) − τ_b(second, y) after each exchange of the ranks first and second.

    Both are quadratic in the exchanges m: c + m·l + mᵀQm, with one Q for both. So are the counts of untied pairs.
    """
    if len(y) > PAIR_LIMIT:
        return _kendall_by_loop(first, second, y, swapped)
    order = _signs(midranks(y), midranks(y))
    signs = _signs(first, first), _signs(second, second), _signs(first, second)
    concordant = _quadratic([sign * order for sign in signs], swapped)
    untied = _quadratic([np.abs(sign) for sign in signs], swapped)
    with np.errstate(invalid="ignore", divide="ignore"):
        taus = [c / np.sqrt(u * np.abs(order).sum(dtype=np.float64)) for c, u in zip(concordant, untied, strict=True)]
    return np.asarray(taus[0] - taus[1])


def _quadratic(matrices: Sequence[NDArray[np.float32]], swapped: Swaps) -> tuple[Array, Array]:
    """Σ_ij of the matrix of the mixed vector, for the first metric and for the second, after each exchange."""
    own, other, cross = matrices
    sums = [matrix.sum(axis=1, dtype=np.float64) for matrix in (own, other, cross, cross.T)]
    mixed = swapped.astype(np.float32) @ (own + other - cross - cross.T)  # whole numbers, exact in single precision
    both = np.einsum("ij,ij->i", mixed.astype(np.float64), swapped)
    return (
        sums[0].sum() + swapped @ (2 * (sums[3] - sums[0])) + both,
        sums[1].sum() + swapped @ (2 * (sums[2] - sums[1])) + both,
    )


def _signs(rows: Array, columns: Array) -> NDArray[np.float32]:
    """Of differences between ranks: halves up to PAIR_LIMIT, exact in single precision."""
    return np.asarray(np.sign(np.subtract.outer(rows.astype(np.float32), columns.astype(np.float32))))


def _kendall_by_loop(first: Array, second: Array, y: Array, swapped: Swaps) -> Array:
    differences = np.full(len(swapped), np.nan)
    for i, swap in enumerate(swapped):
        a, b = np.where(swap, second, first), np.where(swap, first, second)
        if not (constant(a) or constant(b) or constant(y)):
            differences[i] = stats.kendalltau(a, y).statistic - stats.kendalltau(b, y).statistic
    return differences

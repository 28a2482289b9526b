# SPDX-License-Identifier: Apache-2.0
"""Test whether two means differ, from units that hold values of one group, of the other, or of both.

The difference, its standard error and its t interval are computed as in `interloq.statistics.clustered`, over all
values of both groups; units with values of both groups pair them. The exchange test relabels units at random: in a unit
of both groups, the two are swapped with probability ½, and units of only one group are dealt out again. Its statistic
is the difference divided by its standard error, so it also holds for groups that vary differently (Chung and Romano,
2013).

    p = max(exchange test, t test),    interval = difference ± max(their critical values) · standard error.

The exchange test is exact for groups that are exchangeable, which matters for few units and for binary scores; the t
test keeps the interval from being too narrow where few relabellings exist. The interval excludes 0 if and only if p is
below .05. With fewer than six paired units no p-value can be below .05; then there is no interval that excludes 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interloq.statistics.clustered import Clustered, cluster_mean, difference, t_probability
from interloq.statistics.estimate import Array
from interloq.statistics.rounding import RELATIVE, typical_size
from interloq.statistics.significance import draw_swaps, permutation_p, reassignments

ALPHA = 0.05
LEVEL = 1 - ALPHA  # probability that all rank ranges hold together
LARGEST = float(np.finfo(np.float64).max)  # statistic of a difference without any variation


@dataclass(frozen=True, slots=True)
class Gap:
    """Difference of two means, first minus second."""

    value: float
    ci: tuple[float, float] | None
    p: float | None  # None: too few units, or no permutations
    units: int  # independent ones, of either group
    shared: int  # units in both groups


def exchange_test(
    first: Array,
    second: Array,
    first_units: Sequence[str],
    second_units: Sequence[str],
    *,
    n_permutations: int,
    seed: int,
) -> Gap:
    """Compare the means of two groups; `first_units` and `second_units` name the unit of each value."""
    gap = difference(cluster_mean(first, first_units), cluster_mean(second, second_units))
    size = typical_size(first, second)
    units = sorted({*first_units, *second_units})
    shared = len(set(first_units) & set(second_units))
    value = gap.value
    if abs(value) <= RELATIVE * size:
        value = 0.0
    if not (gap.freedom > 0 and n_permutations):
        return Gap(value, interval_of(gap, size), None, len(units), shared)
    center = float(np.concatenate([first, second]).mean())
    place = {unit: i for i, unit in enumerate(units)}
    first_cells = _cells(first - center, [place[unit] for unit in first_units], len(units))
    second_cells = _cells(second - center, [place[unit] for unit in second_units], len(units))
    cells = np.concatenate([first_cells, second_cells])
    statistics = _permute_cells(cells, size, shared, n_permutations, seed)
    return from_statistics(gap, value, statistics, size, len(units), shared)


def _permute_cells(cells: NDArray[np.float64], size: float, shared: int, n_permutations: int, seed: int) -> Array:
    """Return the statistic, observed and after each relabelling; two common cases have faster formulas."""
    if (cells[[1, 3]] == cells[1][0]).all():
        gaps = cells[0] - cells[2]
        gaps[np.abs(gaps) <= RELATIVE * size * cells[1]] = 0.0
        return sign_flips(gaps, n_permutations, seed)
    if not shared:
        return _deal_out(cells, size, n_permutations, seed)
    return np.concatenate(
        [_statistics(cells, swapped, size) for swapped in _draw_relabellings(cells, n_permutations, seed)]
    )


def sign_flips(parts: Array, n_permutations: int, seed: int) -> Array:
    """Return the mean of the parts divided by its standard error: observed, then with random signs flipped."""
    n, squares, size = len(parts), float(parts @ parts), float(np.abs(parts).sum())
    blocks = []
    for swapped in draw_swaps(n, n_permutations, seed):
        total = (1 - 2 * swapped) @ parts
        total[np.abs(total) <= RELATIVE * size] = 0.0
        spread = squares - total**2 / n
        certain = spread <= RELATIVE * squares
        statistics = total / np.sqrt(np.where(certain, 1.0, spread) * n / (n - 1))
        statistics[certain & (total != 0)] = LARGEST
        blocks.append(statistics)
    return np.concatenate(blocks)


def from_statistics(gap: Clustered, value: float, statistics: Array, size: float, units: int, shared: int) -> Gap:
    """Return the p-value and interval of an estimate from its statistics: the observed one, then after relabelling."""
    p = permutation_p(statistics, size=abs(float(statistics[0])))
    if p is None:
        return Gap(value, None, None, units, shared)
    if gap.error <= RELATIVE * size:  # nothing shows how much values vary, so there is no t test
        return Gap(value, None, p, units, shared)
    p = max(p, 2 * t_probability(-abs(value) / gap.error, gap.freedom))
    critical = _critical(statistics)
    half = max(critical or 0.0, gap.quantile(1 - ALPHA / 2)) * gap.error
    ci = None
    if critical is not None or half >= abs(value):
        ci = (value - half, value + half)
    return Gap(value, ci, p, units, shared)


def interval_of(estimate: Clustered, size: float) -> tuple[float, float] | None:
    """Return the t interval; None if values of this size do not vary, because it is unknown how much they could."""
    if estimate.error > RELATIVE * size:
        return estimate.ci
    return None


def _cells(values: Array, unit: Sequence[int], n: int) -> NDArray[np.float64]:
    """Return the sum and number of the values in each unit."""
    where = np.asarray(unit, dtype=np.intp)
    return np.stack([np.bincount(where, values, n), np.bincount(where, minlength=n)])


def _draw_relabellings(cells: NDArray[np.float64], n_permutations: int, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Yield which units change their label, one row per permutation; in the first row, none do."""
    has_first, has_second = cells[1] > 0, cells[3] > 0
    both = has_first & has_second
    if both.all():
        for swapped in draw_swaps(len(both), n_permutations, seed):
            yield swapped.astype(bool)
        return
    alone = np.flatnonzero(~both)
    alone = alone[np.argsort(has_second[alone], kind="stable")]  # first group first
    rng = np.random.default_rng(seed)
    start = True
    for labels in reassignments(len(alone), int(has_first[alone].sum()), n_permutations, seed):
        swapped = np.zeros((len(labels), len(both)), dtype=bool)
        swapped[:, alone] = (labels == 0) == has_first[alone]
        swapped[:, both] = rng.integers(2, size=(len(labels), int(both.sum())), dtype=np.int8)
        swapped[0] &= not start
        start = False
        yield swapped


def _deal_out(cells: NDArray[np.float64], size: float, n_permutations: int, seed: int) -> Array:
    """Return what `_statistics` returns, for units of one group each."""
    order = np.argsort(cells[1] == 0, kind="stable")  # first group first
    total, number = (cells[:2] + cells[2:])[:, order]
    moments = np.stack([total, number, total**2, total * number, number**2], axis=1)
    groups = int(np.count_nonzero(cells[1]))
    drawn = []
    for labels in reassignments(len(order), groups, n_permutations, seed):
        gaps, squares, rounding = np.zeros((3, len(labels)))
        first = labels @ moments
        for sign, group, n in ((1.0, first, groups), (-1.0, moments.sum(axis=0) - first, len(order) - groups)):
            mean = group[:, 0] / group[:, 1]
            residuals = group[:, 2] - 2 * mean * group[:, 3] + mean**2 * group[:, 4]
            squares += n / (n - 1) * np.maximum(residuals, 0.0) / group[:, 1] ** 2
            rounding += RELATIVE * group[:, 2] / group[:, 1] ** 2
            gaps += sign * mean
        drawn.append(_divide_by_errors(gaps, np.sqrt(np.where(squares <= rounding, 0.0, squares)), size))
    return np.concatenate(drawn)


def _statistics(cells: NDArray[np.float64], swapped: NDArray[np.bool_], size: float) -> Array:
    """Return the difference of the means divided by its standard error, after each relabelling."""
    influence: NDArray[np.float64] | float = 0.0
    gaps: NDArray[np.float64] | float = 0.0
    for sign, group, other in ((1.0, cells[:2], cells[2:]), (-1.0, cells[2:], cells[:2])):
        total, number = np.where(swapped, other[0], group[0]), np.where(swapped, other[1], group[1])
        mean = total.sum(axis=1) / number.sum(axis=1)
        groups = np.count_nonzero(group[1])
        scale = sign * math.sqrt(groups / (groups - 1)) / number.sum(axis=1)
        influence = influence + scale[:, None] * (total - mean[:, None] * number)
        gaps = gaps + sign * mean
    return _divide_by_errors(np.asarray(gaps), np.sqrt(np.square(influence).sum(axis=1)), size)


def _divide_by_errors(gaps: Array, errors: Array, size: float) -> Array:
    """Return differences divided by their errors; differences that are tiny beside the values count as 0."""
    gaps = np.where(np.abs(gaps) <= RELATIVE * size, 0.0, gaps)
    certain = errors <= RELATIVE * size
    statistics = gaps / np.where(certain, 1.0, errors)
    statistics[certain & (gaps != 0)] = LARGEST
    return np.asarray(statistics)


def _critical(statistics: Array) -> float | None:
    """Return the value above which a statistic has a p-value below 5 %; None if no relabelling has one."""
    sizes = np.sort(np.abs(statistics))[::-1]
    exceeding = math.ceil(ALPHA * len(sizes)) - 1  # as many may be as large, the observed one included
    if exceeding < 1 or sizes[exceeding] >= sizes[0] * (1 - RELATIVE):
        return None
    return float(np.sort(np.abs(statistics[1:]))[::-1][exceeding - 1])

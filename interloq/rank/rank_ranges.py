# SPDX-License-Identifier: Apache-2.0
"""Ranges of ranks: which pairs of systems differ, and so which ranks each system may have.

All pairs of systems are tested over the same units as their intervals (`interloq.statistics.permutation`). If every
pair whose p-value is below 5 % after Holm's adjustment is in the right order, which happens with a probability of at
least 95 %, the true rank of a system is at least 1 + the number of systems that are significantly better, and at most
the number of systems that are not significantly worse. So all ranges hold *together* with that probability (Al Mohamad,
van Zwet, Solari and Goeman, 2022; Mogstad, Romano, Shaikh and Wilhelm, 2024).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from interloq.statistics.bradley_terry import influences, influences_if_equal, strengths
from interloq.statistics.clustered import Clustered
from interloq.statistics.estimate import Array
from interloq.statistics.permutation import ALPHA, Gap, exchange_test, from_statistics, interval_of, sign_flips
from interloq.statistics.rounding import RELATIVE
from interloq.statistics.significance import adjust_p_values


def mean_gaps(
    values: Mapping[str, Array], units: Mapping[str, Sequence[str]], *, n_permutations: int, seed: int
) -> list[Gap]:
    """Compare the means of each pair of systems, first minus second, in the order of `combinations`."""
    gaps = []
    for first, second in combinations(values, 2):
        gap = exchange_test(
            values[first], values[second], units[first], units[second], n_permutations=n_permutations, seed=seed
        )
        gaps.append(gap)
    return gaps


def strength_estimates(won: Array) -> list[Clustered]:
    """Return the Bradley–Terry strength of each system with the influence of each unit; `won` has the wins per unit."""
    n, values = len(won), strengths(won.sum(axis=0))
    parts = np.zeros((n, len(values)))
    if n > 1:
        parts = influences(won) * math.sqrt(n / (n - 1))
    units = list(map(str, range(n)))
    estimates = []
    for value, column in zip(values, parts.T, strict=True):
        influence = dict(zip(units, column.tolist(), strict=True))
        estimates.append(Clustered(float(value), n, max(0, n - 1), influence))
    return estimates


def strength_gaps(won: Array, estimates: Sequence[Clustered], *, n_permutations: int, seed: int) -> list[Gap]:
    """Compare the strengths of each pair of systems, in the order of `combinations`.

    The test flips the signs of the units' influences on the difference, at the strengths that fit best if both systems
    are equally strong (the score test of Kline and Santos, 2012). For two systems it is the sign test. Like all
    p-values here, it is never below the p-value of the t test that the interval belongs to.
    """
    gaps = []
    for first, second in combinations(range(len(estimates)), 2):
        gaps.append(_strength_gap(won, estimates, first, second, n_permutations, seed))
    return gaps


def _strength_gap(
    won: Array, estimates: Sequence[Clustered], first: int, second: int, n_permutations: int, seed: int
) -> Gap:
    value = estimates[first].value - estimates[second].value
    shared = int(((won[:, first, second] + won[:, second, first]) > 0).sum())
    parts = influences_if_equal(won, first, second)
    met = (won + won.swapaxes(1, 2))[:, [first, second]].any(axis=(1, 2))
    parts = parts[met | (np.abs(parts) > RELATIVE * np.abs(parts).max(initial=0.0))]
    influence = {unit: x - estimates[second].influence[unit] for unit, x in estimates[first].influence.items()}
    gap = Clustered(value, len(parts), max(0, len(parts) - 1), influence)
    if len(parts) < 2 or not n_permutations:
        return Gap(value, interval_of(gap, 1.0), None, len(parts), shared)
    statistics = sign_flips(parts, n_permutations, seed)
    return from_statistics(gap, value, statistics, 1.0, len(parts), shared)


def rank_ranges(gaps: Sequence[Gap], systems: int, sign: float) -> list[tuple[int, int] | None]:
    """Return the best and worst possible rank of each system; `sign` is −1 if lower is better.

    Return None without any p-value, because nothing was tested. A pair without a p-value may be in any order.
    """
    if systems > 1 and all(gap.p is None for gap in gaps):
        return [None] * systems
    better, worse = [0] * systems, [0] * systems
    p_values = adjust_p_values([gap.p for gap in gaps])
    for (i, j), gap, p in zip(combinations(range(systems), 2), gaps, p_values, strict=True):
        if p is None or p >= ALPHA:
            continue
        if sign * gap.value > 0:
            better[j] += 1
            worse[i] += 1
        else:
            better[i] += 1
            worse[j] += 1
    return [(1 + above, systems - below) for above, below in zip(better, worse, strict=True)]

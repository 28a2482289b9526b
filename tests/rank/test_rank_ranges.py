"""Which ranks are possible, from tests of all pairs of systems."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from interloq.rank.rank_ranges import mean_gaps, rank_ranges, strength_estimates, strength_gaps
from interloq.statistics.bradley_terry import strengths
from interloq.statistics.permutation import Gap


def gap(value: float, p: float | None) -> Gap:
    return Gap(value, None, p, 10, 10)


TWO, APART = gap(2.0, 0.03), [gap(2.0, 0.001), gap(3.0, 0.001), gap(1.0, 0.4)]  # a–b, a–c, b–c


@pytest.mark.parametrize(
    ("gaps", "systems", "sign", "ranges"),
    [
        (APART, 3, 1.0, [(1, 1), (2, 3), (2, 3)]),
        (APART, 3, -1.0, [(3, 3), (1, 2), (1, 2)]),
        ([TWO], 2, 1.0, [(1, 1), (2, 2)]),
        ([TWO, gap(1.0, 0.5), gap(-1.0, 0.5)], 3, 1.0, [(1, 3)] * 3),  # adjusted, .03 is .09
        ([gap(2.0, None), gap(1.0, 0.0001), gap(-1.0, None)], 3, 1.0, [(1, 2), (1, 3), (2, 3)]),
        ([gap(2.0, None)], 2, 1.0, [None, None]),  # nothing was tested
        ([], 1, 1.0, [(1, 1)]),
    ],
)
def test_a_range_counts_the_systems_that_are_significantly_better_and_worse(
    gaps: list[Gap], systems: int, sign: float, ranges: list[tuple[int, int] | None]
) -> None:
    assert rank_ranges(gaps, systems, sign) == ranges


def test_all_pairs_of_means_are_compared() -> None:
    rng = np.random.default_rng(0)
    values = {name: rng.normal(3 * i, 1, 20) for i, name in enumerate("abc")}
    units = {name: [str(i) for i in range(20)] for name in "abc"}
    found = mean_gaps(values, units, n_permutations=1000, seed=0)
    assert all(one.value < -2 for one in found)
    assert rank_ranges(found, 3, 1.0) == [(3, 3), (2, 2), (1, 1)]


def won_by(winners: str) -> np.ndarray:
    """One comparison of a and b per unit."""
    tables = {"a": [[0, 1], [0, 0]], "b": [[0, 0], [1, 0]], "=": [[0, 0.5], [0.5, 0]]}
    return np.array([tables[winner] for winner in winners], dtype=float)


def test_for_two_systems_the_test_of_strengths_is_close_to_the_sign_test() -> None:
    won = won_by("aaaaaaaaaaaaaaabbb")
    estimates = strength_estimates(won)
    (found,) = strength_gaps(won, estimates, n_permutations=2000, seed=0)
    expected = strengths(won.sum(axis=0))
    assert found.value == pytest.approx(expected[0] - expected[1])
    assert found.p == pytest.approx(stats.binomtest(15, 18).pvalue, abs=0.02)
    assert (found.units, found.shared) == (18, 18)
    (ties,) = strength_gaps(won_by("========"), strength_estimates(won_by("========")), n_permutations=99, seed=0)
    assert ties.value == pytest.approx(0)
    assert ties.p == 1


def test_strengths_of_equal_systems_rarely_differ() -> None:
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(60):
        won = np.zeros((24, 4, 4))
        for table in won:
            order = rng.permutation(4)
            for i in range(4):
                for j in range(i + 1, 4):
                    table[order[i], order[j]] = 1
        found = strength_gaps(won, strength_estimates(won), n_permutations=400, seed=0)
        wrong += any(ranks != (1, 4) for ranks in rank_ranges(found, 4, 1.0))
    assert wrong <= 8  # 5 % are 3

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from interloq.agree.levels import Samples
from interloq.statistics import significance
from interloq.statistics.estimate import COEFFICIENTS
from interloq.statistics.significance import (
    adjust_p_values,
    permutation_p,
    permutations_per_test,
    swaps,
    williams,
    z_scores,
)

Array = NDArray[np.float64]


# ---- Williams --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("r12", "r13", "r23", "n", "p"),
    [
        # Howell, Statistical Methods for Psychology, 6th edition, p. 262: t = 1.361 on 23 degrees of freedom
        # (p as printed by Weaver's SPSS program Williams1959.sps)
        (0.80, 0.72, 0.89, 26, 0.187),
        # r.test(n = 30, r12 = .5, r13 = .1, r23 = .7) of the R package psych prints t = 3.38, p < 0.0021
        (0.50, 0.10, 0.70, 30, 0.0022),
    ],
)
def test_published_examples(r12: float, r13: float, r23: float, n: int, p: float) -> None:
    assert williams(r12, r13, r23, n) == pytest.approx(p, rel=0.02)


@given(st.floats(-0.9, 0.9), st.floats(-0.9, 0.9), st.integers(4, 500))
def test_williams_by_hand(r12: float, r13: float, n: int) -> None:
    r23 = r12 * r13  # always a possible third correlation
    determinant = np.linalg.det(np.array([[1, r12, r13], [r12, 1, r23], [r13, r23, 1]]))
    spread = 2 * (n - 1) / (n - 3) * determinant + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3
    t = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / spread)
    assert williams(r12, r13, r23, n) == pytest.approx(2 * (1 - stats.t.cdf(abs(t), n - 3)), abs=1e-9)


def test_williams_holds_its_level() -> None:
    """Two metrics equally close to people, and close to each other: 5 % of tests should fall below .05."""
    rng = np.random.default_rng(0)
    below = 0
    for _ in range(1000):
        y, common = rng.normal(size=(2, 60))
        a, b = (0.5 * y + common + 0.7 * rng.normal(size=60) for _ in range(2))
        r = np.corrcoef([y, a, b])
        p = williams(r[0, 1], r[0, 2], r[1, 2], 60)
        assert p is not None
        below += p < 0.05
    assert stats.binomtest(below, 1000, 0.05).pvalue > 0.001


@pytest.mark.parametrize(
    ("r12", "r13", "r23", "n"),
    [(0.5, 0.4, 0.3, 3), (math.nan, 0.4, 0.3, 50), (0.5, 0.5, 1.0, 50), (0.5, 0.2, math.nan, 50)],
)
def test_williams_undefined(r12: float, r13: float, r23: float, n: int) -> None:
    assert williams(r12, r13, r23, n) is None


def test_opposite_metrics_do_not_break_williams() -> None:
    assert williams(0.5, -0.5, -1.0, 50) is None  # 0/0: the two are one metric with two signs
    p = williams(0.5, -0.5, -0.99, 50)
    assert p is not None
    assert 0 <= p <= 1


# ---- adjusting -------------------------------------------------------------------------------------------------------


def test_a_family_has_enough_permutations_unless_a_number_is_given() -> None:
    assert [permutations_per_test(tests) for tests in (1, 10, 25)] == [1000, 1000, 2500]
    assert [permutations_per_test(25, given) for given in (0, 99)] == [0, 99]


def test_holm_and_benjamini_hochberg_by_hand() -> None:
    # sorted .01 .02 .04 .5 times 4 3 2 1, never falling
    assert adjust_p_values([0.04, 0.01, 0.5, 0.02], "holm") == pytest.approx([0.08, 0.04, 0.5, 0.06])
    assert adjust_p_values([0.6, 0.5], "holm") == [1.0, 1.0]
    # sorted .01 .02 .04 .5 times 4/1 4/2 4/3 4/4
    assert adjust_p_values([0.04, 0.01, 0.5, 0.02], "bh") == pytest.approx([0.16 / 3, 0.04, 0.5, 0.04])


@pytest.mark.parametrize("how", ["holm", "bh"])
def test_missing_tests_are_not_part_of_the_family(how: significance.Adjust) -> None:
    assert adjust_p_values([None, 0.01, None, 0.02], how)[::2] == [None, None]
    assert adjust_p_values([None, 0.01, None, 0.02], how)[1::2] == adjust_p_values([0.01, 0.02], how)
    assert adjust_p_values([None, None], how) == [None, None]
    assert adjust_p_values([], how) == []
    assert adjust_p_values([0.03], how) == [0.03]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.sampled_from(["holm", "bh"]))
def test_adjusting_keeps_order_and_never_lowers(p_values: list[float], how: significance.Adjust) -> None:
    found = [p for p in adjust_p_values(p_values, how) if p is not None]
    assert all(before - 1e-12 <= after <= 1 for before, after in zip(p_values, found, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(found)[order]) >= -1e-12).all()


# ---- exchanges -------------------------------------------------------------------------------------------------------


def metrics(n: int, seed: int, *, close: tuple[float, float] = (0.4, 0.4)) -> tuple[Array, Array, Array]:
    """Two correlated metrics on different scales with ties, and judgments."""
    rng = np.random.default_rng(seed)
    y = rng.integers(1, 6, n).astype(float)
    common = rng.normal(size=n)
    first, second = (r * (y - 3) + 0.5 * common + rng.normal(size=n) for r in close)
    return np.round(first, 1), np.round(100 + 20 * second), y


def literal(first: Array, second: Array, y: Array, n_permutations: int, seed: int) -> dict[str, list[float]]:
    """Every exchange written out, with scipy's coefficients."""
    z = [(x - x.mean()) / x.std() for x in (first, second)]
    ranks = [stats.rankdata(x) for x in (first, second, y)]
    found: dict[str, list[float]] = {name: [] for name in COEFFICIENTS}
    for block in swaps(len(y), n_permutations, seed):
        for swap in block.astype(bool):
            a, b = np.where(swap, z[1], z[0]), np.where(swap, z[0], z[1])
            c, d = np.where(swap, ranks[1], ranks[0]), np.where(swap, ranks[0], ranks[1])
            found["pearson"].append(stats.pearsonr(a, y).statistic - stats.pearsonr(b, y).statistic)
            found["spearman"].append(stats.pearsonr(c, ranks[2]).statistic - stats.pearsonr(d, ranks[2]).statistic)
            found["kendall"].append(stats.kendalltau(c, y).statistic - stats.kendalltau(d, y).statistic)
    return found


@pytest.mark.parametrize(("n", "limit"), [(4, 3000), (25, 3000), (120, 3000), (25, 10)])
def test_exchanges_equal_the_literal_loop(n: int, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(significance, "PAIR_LIMIT", limit)
    first, second, y = metrics(n, 3)
    found, expected = Samples().exchange(first, second, y, 60, 1), literal(first, second, y, 60, 1)
    for name in COEFFICIENTS:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-12, err_msg=name)


def test_the_first_exchange_is_none_and_the_others_are_fair() -> None:
    drawn = np.concatenate(list(swaps(50, 400, 0)))
    assert drawn.shape == (401, 50)
    assert not drawn[0].any()
    assert stats.binomtest(int(drawn[1:].sum()), 400 * 50).pvalue > 0.001
    assert set(np.unique(drawn)) == {0.0, 1.0}


def test_observed_difference_is_the_difference_of_coefficients() -> None:
    first, second, y = metrics(80, 5, close=(0.6, 0.1))
    found = Samples().exchange(first, second, y, 0, 0)
    tests: tuple[Any, ...] = (stats.pearsonr, stats.spearmanr, stats.kendalltau)
    for name, test in zip(COEFFICIENTS, tests, strict=True):
        assert found[name] == pytest.approx([test(first, y).statistic - test(second, y).statistic])
        assert permutation_p(found[name]) is None  # nothing to hold it against


def test_permutation_p_counts_as_it_should() -> None:
    assert permutation_p(np.array([0.3, 0.1, -0.3, 0.2, np.nan])) == pytest.approx((1 + 1) / (1 + 3))
    assert permutation_p(np.array([np.nan, 0.1, 0.2])) is None
    assert permutation_p(np.array([0.0, 0.0, 0.0])) == 1.0


def test_a_metric_against_itself_on_another_scale_is_no_difference() -> None:
    first, _, y = metrics(40, 0)
    for differences in Samples().exchange(first, 5 - 3 * -first, y, 200, 0).values():
        assert permutation_p(differences) == 1.0


def test_order_of_the_two_metrics_does_not_matter() -> None:
    first, second, y = metrics(40, 8, close=(0.5, 0.2))
    one, other = Samples().exchange(first, second, y, 300, 0), Samples().exchange(second, first, y, 300, 0)
    for name in COEFFICIENTS:
        np.testing.assert_allclose(one[name], -other[name], atol=1e-12)
        assert permutation_p(one[name]) == permutation_p(other[name])


def test_permutation_test_holds_its_level_and_has_power() -> None:
    rounds = 400
    p_null: dict[str, list[float]] = {name: [] for name in COEFFICIENTS}
    for seed in range(rounds):
        for name, differences in Samples().exchange(*metrics(50, seed), 199, seed).items():
            p = permutation_p(differences)
            assert p is not None
            p_null[name].append(p)
    for name, p_values in p_null.items():
        below = sum(p <= 0.05 for p in p_values)
        assert stats.binomtest(below, rounds, 0.05).pvalue > 0.001, name
        assert stats.kstest(p_values, "uniform").pvalue > 0.001, name
    strong = [Samples().exchange(*metrics(100, seed, close=(0.8, 0.1)), 199, seed) for seed in range(30)]
    for name in COEFFICIENTS:
        assert sum((permutation_p(run[name]) or 1.0) <= 0.05 for run in strong) >= 28, name


def test_z_scores() -> None:
    found = z_scores(np.array([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]]))
    np.testing.assert_allclose(found, np.array([[-math.sqrt(1.5), 0, math.sqrt(1.5)], [0, 0, 0]]))
    assert z_scores(np.zeros(0)).shape == (0,)

"""Means over clusters, against textbook formulas and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from interloq.statistics.clustered import (
    Clustered,
    Proportion,
    beta_interval,
    cluster_mean,
    difference,
    pooled_skewness,
    total,
)

RNG = np.random.default_rng(7)
FIRST, SECOND = RNG.normal(1.0, 1.0, 12), RNG.normal(0.4, 2.0, 12)


def names(n: int, prefix: str = "") -> list[str]:
    return [f"{prefix}{i}" for i in range(n)]


def test_single_values_give_the_t_interval() -> None:
    found = cluster_mean(FIRST, names(12))
    expected = stats.ttest_1samp(FIRST, 0).confidence_interval()
    assert found.ci == pytest.approx((expected.low, expected.high))
    assert found.value == pytest.approx(FIRST.mean())
    assert found.n == 12


def test_an_interval_on_a_scale_stays_on_it_and_covers_the_mean() -> None:
    """Ratings from 1 to 5, mostly 5: t intervals leave the scale and cover the mean in 82 % of the cases."""
    rng, chances, clusters, covered = np.random.default_rng(3), (0.01, 0.02, 0.07, 0.2, 0.7), names(8), []
    true = float(np.dot(chances, range(1, 6)))
    for _ in range(300):
        ci = cluster_mean(rng.choice(np.arange(1.0, 6), 8, p=chances), clusters).ci_within(1, 5)
        low, high = ci or (1, 5)
        assert 1 <= low < high <= 5
        covered.append(low <= true <= high)
    assert np.mean(covered) > 0.94
    assert cluster_mean(np.full(8, 5.0), clusters).ci_within(1, 5) is None
    wide = cluster_mean(np.array([0.0, 1.0]), names(2)).ci_within(0, 1)
    assert wide == pytest.approx((0, 1), abs=1e-9)
    middle = cluster_mean(FIRST, names(12))
    assert middle.ci_within(-1e6, 1e6) == pytest.approx(middle.ci)


def test_shared_clusters_pair_and_others_do_not() -> None:
    paired = difference(cluster_mean(FIRST, names(12)), cluster_mean(SECOND, names(12)))
    expected = stats.ttest_rel(FIRST, SECOND).confidence_interval()
    assert paired.ci == pytest.approx((expected.low, expected.high))
    apart = difference(cluster_mean(FIRST, names(12)), cluster_mean(SECOND, names(12, "other ")))
    expected = stats.ttest_ind(FIRST, SECOND, equal_var=False).confidence_interval()
    assert apart.ci == pytest.approx((expected.low, expected.high))


def test_repeated_values_in_a_cluster_add_no_certainty() -> None:
    once, twice = (
        cluster_mean(FIRST, names(12)),
        cluster_mean(np.repeat(FIRST, 2), [n for n in names(12) for _ in "ab"]),
    )
    assert twice.error == pytest.approx(once.error)
    assert twice.n == 24


def test_the_smallest_detectable_difference_is_found_in_80_percent() -> None:
    spread = cluster_mean(RNG.normal(size=60), names(60))
    wanted = spread.detectable / spread.error / math.sqrt(60)
    found = stats.ttest_1samp(RNG.normal(wanted, 1, (800, 60)), 0, axis=1).pvalue < 0.05
    assert float(np.mean(found)) == pytest.approx(0.8, abs=0.05)


def test_too_few_clusters_have_no_interval() -> None:
    for values in (np.zeros(0), np.ones(1)):
        found = cluster_mean(values, names(len(values)))
        assert found.ci is None
        assert math.isnan(found.error)
        assert total(found, cluster_mean(FIRST, names(12, "x"))).ci is None


def test_constant_values_have_an_interval_of_width_0_and_no_detectable_difference() -> None:
    same = cluster_mean(np.ones(3), names(3))
    assert same.ci == (1.0, 1.0)
    assert math.isnan(same.detectable)
    assert difference(same, cluster_mean(np.ones(3), names(3, "x"))).ci == (0.0, 0.0)


def test_skewed_values_have_longer_intervals_on_the_side_of_the_tail() -> None:
    values = np.random.default_rng(1).exponential(size=30)
    found = cluster_mean(values, names(30))
    assert found.skewness == pytest.approx(stats.skew(values) / math.sqrt(30), rel=0.01)
    plain, skewed = found.ci, found.skewed_ci(found.skewness)
    assert plain
    assert skewed
    assert skewed[0] == plain[0]
    assert skewed[1] > plain[1]
    mirrored = cluster_mean(-values, names(30))
    assert mirrored.skewed_ci(mirrored.skewness) == pytest.approx((-skewed[1], -skewed[0]))
    assert found.skewed_ci(0.0) == plain


@pytest.mark.parametrize("skewness", [-0.8, -0.1, 0.0, 0.3, 1.5])
def test_the_p_value_is_below_5_percent_if_and_only_if_the_interval_excludes_0(skewness: float) -> None:
    seen = set()
    for value in np.linspace(-4, 4, 81):
        found = Clustered(float(value), 20, 19, {"a": 0.6, "b": 0.8})
        ci = found.skewed_ci(skewness)
        assert ci
        excludes = ci[0] > 0 or ci[1] < 0
        assert excludes == (found.skewed_p(skewness) < 0.05)
        seen.add(excludes)
    assert seen == {True, False}


def test_a_small_group_is_as_skewed_as_a_large_one() -> None:
    """Intervals of t miss the truth too often, because a small group may have no extreme value yet."""
    rng, plain, corrected = np.random.default_rng(0), 0, 0
    for _ in range(400):
        first = cluster_mean(rng.exponential(size=120), names(120, "a"))
        second = cluster_mean(rng.exponential(size=15), names(15, "b"))
        gap = difference(first, second)
        plain_ci, skewed_ci = gap.ci, gap.skewed_ci(pooled_skewness(first, second))
        assert plain_ci
        assert skewed_ci
        plain += plain_ci[0] <= 0 <= plain_ci[1]
        corrected += skewed_ci[0] <= 0 <= skewed_ci[1]
    assert plain < 0.94 * 400 < corrected


@pytest.mark.parametrize("scale", [1e-90, 1.0, 1e99])
def test_skewness_does_not_depend_on_the_scale_and_needs_values_that_vary(scale: float) -> None:
    first, second = cluster_mean(FIRST * scale, names(12, "a")), cluster_mean(SECOND * scale, names(12, "b"))
    usual = pooled_skewness(cluster_mean(FIRST, names(12, "a")), cluster_mean(SECOND[:6], names(6, "b")))
    scaled = pooled_skewness(first, cluster_mean(SECOND[:6] * scale, names(6, "b")))
    assert scaled == pytest.approx(usual)
    assert pooled_skewness(first, second) == pytest.approx(0)  # groups of one size balance each other
    constant = cluster_mean(np.ones(5), names(5))
    assert (constant.skewness, pooled_skewness(constant, constant)) == (0.0, 0.0)
    assert math.isnan(constant.skewed_p(0.0))
    assert cluster_mean(np.ones(1), ["a"]).skewed_ci(0.0) is None


def test_exact_intervals_and_tests() -> None:
    none = Proportion(0, 10)
    assert none.ci == pytest.approx((0, 1 - 0.025 ** (1 / 10)))  # the upper limit solves (1 − p)^10 = 0.025
    eight = Proportion(8, 10)
    assert eight.value == 0.8
    assert eight.p(0.5) == pytest.approx(2 * (45 + 10 + 1) / 1024)


def test_without_answers_nothing_is_known() -> None:
    unknown = Proportion(0, 0)
    assert math.isnan(unknown.value)
    assert math.isnan(unknown.p(0.5))
    assert unknown.ci is None


@pytest.mark.parametrize("yes", [0, 1, 3, 9, 10])
def test_the_interval_of_a_share_is_the_exact_one_for_whole_numbers(yes: int) -> None:
    assert beta_interval(yes / 10, 10) == pytest.approx(Proportion(yes, 10).ci)


def test_the_interval_of_a_share_lies_between_those_of_the_neighbouring_numbers() -> None:
    low, high = beta_interval(0.35, 10)
    (low_3, high_3), (low_4, high_4) = beta_interval(0.3, 10), beta_interval(0.4, 10)
    assert low_3 < low < low_4
    assert high_3 < high < high_4

"""Means over clusters, against textbook formulas and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from interloq.statistics.clustered import cluster_mean, difference, total

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

"""The exchange test beside scipy and a literal loop."""

from __future__ import annotations

from itertools import chain, combinations, product

import numpy as np
import pytest
from scipy import stats

from interloq.metrics.metric import Array
from interloq.statistics.clustered import cluster_mean, difference
from interloq.statistics.permutation import Gap, exchange_test


def compare_groups(first: Array, second: Array, first_units: str, second_units: str) -> Gap:
    return exchange_test(first, second, first_units.split(), second_units.split(), n_permutations=2000, seed=0)


def names(n: int, prefix: str = "u") -> str:
    return " ".join(f"{prefix}{i}" for i in range(n))


def test_pairs_are_tested_like_the_paired_t_test() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.3, 1, 40), rng.normal(size=40)
    found = compare_groups(first, second, names(40), names(40))
    expected = stats.ttest_rel(first, second)
    assert found.value == pytest.approx((first - second).mean())
    assert found.p == pytest.approx(expected.pvalue, abs=0.02)
    assert found.ci == pytest.approx(tuple(expected.confidence_interval()), abs=0.05)
    assert (found.units, found.shared) == (40, 40)


def test_separate_groups_are_tested_like_welch() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.5, 1, 60), rng.normal(0, 3, 30)
    found = compare_groups(first, second, names(60), names(30, "v"))
    expected = stats.ttest_ind(first, second, equal_var=False)
    assert found.p == pytest.approx(expected.pvalue, abs=0.03)
    assert found.ci == pytest.approx(tuple(expected.confidence_interval()), abs=0.2)
    assert (found.units, found.shared) == (90, 0)


def test_few_pairs_have_the_exact_p_value_of_all_swaps() -> None:
    differences = np.array([1.0, 2.0, -0.5, 1.5, 0.7, 2.2, 0.1])
    found = compare_groups(differences, np.zeros(7), names(7), names(7))
    signs = np.array(list(product([1, -1], repeat=7)))
    means = (signs * differences).mean(axis=1)
    exact = (np.abs(means) >= differences.mean() - 1e-12).mean()
    assert found.p == pytest.approx(max(exact, stats.ttest_1samp(differences, 0).pvalue))


def test_units_with_both_groups_pair_them_and_others_count_too() -> None:
    """Large differences between units vanish where both groups share them."""
    rng = np.random.default_rng(2)
    effect, noise = 10 * rng.normal(size=30), rng.normal(size=60)
    first, second = effect + 1 + noise[:30], effect + noise[30:]
    paired = compare_groups(first, second, names(30), names(30))
    apart = compare_groups(first, second, names(30), names(30, "v"))
    partly = compare_groups(np.append(first, 0.0), second, names(31), names(30))
    assert paired.ci
    assert apart.ci
    assert paired.ci[0] > 0 > apart.ci[0]
    assert (partly.units, partly.shared) == (31, 30)


def test_values_of_one_unit_count_once() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(0.8, 1, 10), rng.normal(size=10)
    once = compare_groups(first, second, names(10), names(10, "v"))
    repeated = compare_groups(np.repeat(first, 9), np.repeat(second, 9), *(
        " ".join(np.repeat(units.split(), 9)) for units in (names(10), names(10, "v"))
    ))  # fmt: skip
    assert once.ci
    assert repeated.ci == pytest.approx(once.ci)
    assert repeated.p == pytest.approx(once.p)


@pytest.mark.parametrize("scale", [1e-14, 1.0, 1e12])
def test_differences_that_are_rounding_errors_are_none(scale: float) -> None:
    first, second = np.full(8, 0.1 + 0.2) * scale, np.full(8, 0.3) * scale
    for units in (names(8), names(8, "v")):
        found = compare_groups(first, second, names(8), units)
        assert (found.value, found.p, found.ci) == (0.0, 1.0, None)


def test_equal_differences_are_only_as_certain_as_their_number() -> None:
    found = compare_groups(np.ones(8), np.zeros(8), names(8), names(8))
    assert (found.p, found.ci) == (2 / 2**8, None)
    few = compare_groups(np.array([1.0, 1.1, 0.9, 1.0, 1.05]), np.zeros(5), names(5), names(5))
    assert few.p == 2 / 2**5
    assert few.ci is None


def test_a_single_unit_is_not_tested() -> None:
    found = compare_groups(np.array([1.0, 2.0]), np.array([0.0]), "u u", "u")
    assert (found.value, found.p, found.ci) == (1.5, None, None)


def statistic(first: dict[str, list[float]], second: dict[str, list[float]]) -> float:
    """The difference of two groups divided by its standard error; values by unit."""
    means = []
    for group in (first, second):
        units = [unit for unit, values in group.items() for _ in values]
        means.append(cluster_mean(np.array(list(chain.from_iterable(group.values()))), units))
    gap = difference(*means)
    return gap.value / gap.error


def literal_p(first: dict[str, list[float]], second: dict[str, list[float]]) -> float:
    """The p-value of all relabellings, one by one."""
    both = sorted(first.keys() & second.keys())
    alone = {**{u: v for u, v in first.items() if u not in both}, **{u: v for u, v in second.items() if u not in both}}
    n_first = len(first) - len(both)
    sizes = []
    for swapped in product([False, True], repeat=len(both)):
        for dealt in combinations(sorted(alone), n_first):
            one = {unit: alone[unit] for unit in dealt}
            other = {unit: values for unit, values in alone.items() if unit not in dealt}
            for unit, swap in zip(both, swapped, strict=True):
                one[unit], other[unit] = (second[unit], first[unit]) if swap else (first[unit], second[unit])
            sizes.append(abs(statistic(one, other)))
    return float(np.mean(np.array(sizes) >= abs(statistic(first, second)) - 1e-9))


def grouped(values: dict[str, list[float]]) -> tuple[Array, str]:
    return np.array(list(chain.from_iterable(values.values()))), " ".join(u for u, v in values.items() for _ in v)


@pytest.mark.parametrize(
    ("first", "second"),
    [("a a b c c c d e", "v w w x y"), ("a a b b b c d d e f", "a b b c c d e f"), ("a a b c d e f", "a b b c w x")],
    ids=["separate", "paired", "partly paired"],
)
def test_units_of_any_size_have_the_p_value_of_all_relabellings(first: str, second: str) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        sides: list[dict[str, list[float]]] = []
        for units, shift in ((first, 0.8), (second, 0.0)):
            values: dict[str, list[float]] = {}
            for unit in units.split():
                values.setdefault(unit, []).append(shift + float(rng.normal()))
            sides.append(values)
        (one, one_units), (other, other_units) = map(grouped, sides)
        found = compare_groups(one, other, one_units, other_units)
        gap = difference(cluster_mean(one, one_units.split()), cluster_mean(other, other_units.split()))
        by_t = 2 * stats.t.sf(abs(gap.value) / gap.error, gap.freedom)
        assert found.p == pytest.approx(max(literal_p(*sides), by_t), abs=0.035)


def test_the_interval_excludes_0_if_and_only_if_p_is_below_a_twentieth() -> None:
    rng, seen = np.random.default_rng(5), set()
    for _ in range(60):
        n, m, shift = int(rng.integers(7, 15)), int(rng.integers(7, 15)), float(rng.choice([0.0, 0.9, 1.5]))
        for units in (names(m), names(m, "v")):
            found = compare_groups(shift + rng.normal(size=n), rng.normal(size=m), names(n), units)
            assert found.ci
            assert found.p is not None
            excluded = not found.ci[0] <= 0 <= found.ci[1]
            assert excluded == (found.p < 0.05)
            seen.add(excluded)
    assert seen == {True, False}

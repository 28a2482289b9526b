from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from interloq.statistics import correlate
from interloq.statistics.estimate import COEFFICIENTS
from interloq.statistics.resampling import bootstrap_counts

Array = NDArray[np.float64]


def scipy_values(x: Array, y: Array) -> dict[str, float]:
    """The independent implementation; NaN where scipy would only warn."""
    if len(set(x.tolist())) < 2 or len(set(y.tolist())) < 2:
        return dict.fromkeys(COEFFICIENTS, math.nan)
    tests = (stats.pearsonr(x, y), stats.spearmanr(x, y), stats.kendalltau(x, y))
    return {name: float(test.statistic) for name, test in zip(COEFFICIENTS, tests, strict=True)}


def tied(n: int, seed: int, levels: int = 5) -> tuple[Array, Array]:
    """Judgments with many ties and a metric that follows them, with ties of its own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(1, levels + 1, n).astype(float)
    return np.round(y * 0.3 + rng.normal(size=n), 1), y


def test_values_and_p_values_are_scipys() -> None:
    x, y = tied(80, 1)
    found = correlate.coefficients(x, y)
    for name, test in zip(
        COEFFICIENTS, (stats.pearsonr(x, y), stats.spearmanr(x, y), stats.kendalltau(x, y)), strict=True
    ):
        assert found[name].value == pytest.approx(test.statistic)
        assert found[name].p == pytest.approx(test.pvalue)
        assert (found[name].n, found[name].note, found[name].ci) == (80, "", None)


@pytest.mark.parametrize("n", [3, 4, 6])
def test_few_points_have_an_exact_p_value(n: int) -> None:
    x, y = tied(n, n + 20, 3)
    y[0] += 1.5
    exact = stats.permutation_test(
        [x],
        lambda z: abs(float(stats.spearmanr(z, y).statistic)),
        permutation_type="pairings",
        n_resamples=math.factorial(n),
        alternative="greater",
    )
    found = correlate.coefficients(x, y)["spearman"]
    assert abs(found.value) == pytest.approx(float(exact.statistic))
    assert found.p == pytest.approx(float(exact.pvalue))


def test_perfect_order_of_four_points_is_not_certain() -> None:
    found = correlate.coefficients(np.arange(4.0), np.array([1.0, 2.0, 3.0, 9.0]))["spearman"]
    assert found.p == pytest.approx(2 / 24)  # two of the 24 orders are perfect


@pytest.mark.parametrize("n", [3, 4, 17, 150, 400])
def test_bare_values_are_scipys(n: int) -> None:
    x, y = tied(n, n)
    y[0] += 1.0  # never constant, even with three points
    assert correlate.values(x, y) == pytest.approx(scipy_values(x, y), nan_ok=True)


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        ([], [], "0 points: nothing to correlate"),
        ([1.0], [2.0], "1 point: nothing to correlate"),
        ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], "constant scores"),
        ([1.0, 2.0, 3.0], [4.0, 4.0, 4.0], "constant judgments"),
        ([1.0, 1.0], [4.0, 4.0], "constant scores and judgments"),
        ([0.1 + 0.2, 0.3, 0.3], [1.0, 2.0, 3.0], "constant scores"),  # apart by rounding only
    ],
)
def test_undefined_is_nan_with_the_reason(x: list[float], y: list[float], why: str) -> None:
    for estimate in correlate.coefficients(np.array(x), np.array(y)).values():
        assert math.isnan(estimate.value)
        assert (estimate.note, estimate.p, estimate.n) == (why, None, len(x))
    assert all(math.isnan(v) for v in correlate.values(np.array(x), np.array(y)).values())


def test_two_points_have_a_value_that_says_nothing() -> None:
    for y, sign in ((np.array([1.0, 5.0]), 1.0), (np.array([5.0, 1.0]), -1.0)):
        for estimate in correlate.coefficients(np.array([0.2, 0.9]), y).values():
            assert (estimate.value, estimate.p, estimate.note) == (sign, None, correlate.TWO_POINTS)
    assert all(math.isnan(v) for v in correlate.values(np.array([0.2, 0.9]), np.array([1.0, 5.0])).values())


def test_perfect_order_of_three_points() -> None:
    found = correlate.coefficients(np.array([1.0, 2.0, 4.0]), np.array([10.0, 20.0, 40.0]))
    assert [round(found[name].value, 12) for name in COEFFICIENTS] == [1.0, 1.0, 1.0]


# ---- resamples -------------------------------------------------------------------------------------------------------


def literal(
    x: Array, y: Array, n_bootstrap: int, seed: int, cluster: NDArray[np.int64] | None = None
) -> dict[str, Array]:
    """Every resample of points or clusters written out and handed to scipy."""
    cluster = np.arange(len(x)) if cluster is None else cluster
    found: dict[str, list[float]] = {name: [] for name in COEFFICIENTS}
    for block in bootstrap_counts(int(cluster.max()) + 1, n_bootstrap, seed):
        for drawn in block:
            points = np.repeat(np.arange(len(x)), drawn[cluster])
            for name, value in scipy_values(x[points], y[points]).items():
                found[name].append(value)
    return {name: np.array(values) for name, values in found.items()}


@pytest.mark.parametrize(("n", "levels"), [(2, 2), (3, 2), (5, 2), (40, 5), (120, 100)])
def test_resampled_equals_the_literal_loop(n: int, levels: int) -> None:
    x, y = tied(n, n, levels)
    found, expected = correlate.resampled(x, y, n_bootstrap=200, seed=7), literal(x, y, 200, 7)
    for name in COEFFICIENTS:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-12, err_msg=name)


def test_whole_clusters_are_drawn() -> None:
    x, y = tied(40, 40, 5)
    cluster = np.random.default_rng(0).permutation(np.arange(40) % 7)
    found = correlate.resampled(x, y, n_bootstrap=100, seed=7, cluster=cluster)
    expected = literal(x, y, 100, 7, cluster)
    for name in COEFFICIENTS:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-12, err_msg=name)


def test_scores_of_very_different_size_lose_no_digits() -> None:
    rng = np.random.default_rng(2)
    x = 10.0 ** rng.uniform(-19, 0, 60) + np.where(np.arange(60) == 5, 1e6, 0.0)
    y = rng.integers(1, 6, 60).astype(float)
    found, expected = correlate.resampled(x, y, n_bootstrap=100, seed=0), literal(x, y, 100, 0)
    for name in COEFFICIENTS:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-9, err_msg=name)


def test_the_loop_for_large_sets_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = tied(30, 5, 2)
    x[:20] = 1.0  # so that some resamples are constant
    by_matrix = correlate.resampled(x, y, n_bootstrap=300, seed=1)
    monkeypatch.setattr(correlate, "MATRIX_LIMIT", 10)
    by_loop = correlate.resampled(x, y, n_bootstrap=300, seed=1)
    for name in COEFFICIENTS:
        np.testing.assert_allclose(by_loop[name], by_matrix[name], atol=1e-12)


def test_a_constant_resample_has_no_value() -> None:
    x = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.7])  # a resample without the last point is constant, though 6·0.1/6 ≠ 0.1
    found = correlate.resampled(x, np.arange(6.0), n_bootstrap=500, seed=0)
    empty = np.concatenate([block[:, 5] == 0 for block in bootstrap_counts(6, 500, 0)])
    full = np.concatenate([block[:, 5] == 6 for block in bootstrap_counts(6, 500, 0)])
    assert empty.sum() > 100
    for name in COEFFICIENTS:
        np.testing.assert_array_equal(np.isnan(found[name]), empty | full)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12), st.integers(0, 99))
def test_resamples_of_any_ties_equal_scipy(pairs: list[tuple[int, int]], seed: int) -> None:
    x, y = np.array(pairs, dtype=float).T
    found, expected = correlate.resampled(x, y, n_bootstrap=5, seed=seed), literal(x, y, 5, seed)
    for name in COEFFICIENTS:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=3, max_size=15),
    st.sampled_from([0.5, 2.0, 8.0]),
    st.integers(-5, 5),
)
def test_coefficients_do_not_move_with_scale_and_origin(
    pairs: list[tuple[int, int]], scale: float, origin: int
) -> None:
    x, y = np.array(pairs, dtype=float).T
    first, second = correlate.values(x, y), correlate.values(x * scale + origin, y)
    assert second == pytest.approx(first, nan_ok=True, abs=1e-9)
    assert correlate.values(-x, y) == pytest.approx({k: -v for k, v in first.items()}, nan_ok=True, abs=1e-9)

"""Coefficients of two vectors, row by row, over resamples, and of one's own, at every level of a table."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from interloq import InputError, Rating
from interloq.agree.agreement import meta_evaluate
from interloq.agree.table import By
from interloq.metrics.metric import Array
from interloq.records import INTERLOCUTOR
from interloq.statistics import correlation
from interloq.statistics.correlation import BUILT_IN, BY_ROW, check_coefficients, kendall_rows
from interloq.statistics.estimate import COEFFICIENTS
from interloq.statistics.resampling import bootstrap_counts
from tests.agree.test_agreement import follow, rated, scored

SCIPY: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


@pytest.mark.parametrize("name", BY_ROW)
def test_rows_equal_scipy_row_by_row(name: str) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 4, (50, 9)).astype(float), rng.integers(0, 3, (50, 9)).astype(float)
    x[0], y[1] = 0.1, 0.7
    x[2, 3] = np.nan
    found = BY_ROW[name](x, y)
    assert np.isnan(found[:3]).all()
    expected = [SCIPY[name](a, b).statistic for a, b in zip(x[3:], y[3:], strict=True)]
    np.testing.assert_allclose(found[3:], expected, atol=1e-12)


def test_kendall_rows_do_not_depend_on_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 30, 7))
    whole = kendall_rows(x, y)
    monkeypatch.setattr(correlation, "BLOCK", 100)
    np.testing.assert_array_equal(kendall_rows(x, y), whole)


def scipy_values(x: Array, y: Array) -> dict[str, float]:
    """The independent implementation; NaN where scipy would only warn."""
    if len(set(x.tolist())) < 2 or len(set(y.tolist())) < 2:
        return dict.fromkeys(COEFFICIENTS, math.nan)
    return {name: float(SCIPY[name](x, y).statistic) for name in COEFFICIENTS}


def draw_tied(n: int, seed: int, levels: int = 5) -> tuple[Array, Array]:
    """Judgments with many ties and a metric that follows them, with ties of its own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(1, levels + 1, n).astype(float)
    return np.round(y * 0.3 + rng.normal(size=n), 1), y


def test_values_and_p_values_are_scipys() -> None:
    x, y = draw_tied(80, 1)
    found = correlation.coefficients(x, y)
    for name in COEFFICIENTS:
        test = SCIPY[name](x, y)
        assert found[name].value == pytest.approx(test.statistic)
        assert found[name].p == pytest.approx(test.pvalue)
        assert (found[name].n, found[name].note, found[name].ci) == (80, "", None)


@pytest.mark.parametrize("n", [3, 4, 6])
def test_few_points_have_an_exact_p_value(n: int) -> None:
    x, y = draw_tied(n, n + 20, 3)
    y[0] += 1.5
    exact = stats.permutation_test(
        [x],
        lambda z: abs(float(stats.spearmanr(z, y).statistic)),
        permutation_type="pairings",
        n_resamples=math.factorial(n),
        alternative="greater",
    )
    found = correlation.coefficients(x, y)["spearman"]
    assert abs(found.value) == pytest.approx(float(exact.statistic))
    assert found.p == pytest.approx(float(exact.pvalue))


def test_perfect_order_of_four_points_is_not_certain() -> None:
    found = correlation.coefficients(np.arange(4.0), np.array([1.0, 2.0, 3.0, 9.0]))["spearman"]
    assert found.p == pytest.approx(2 / 24)  # two of the 24 orders are perfect


@pytest.mark.parametrize("n", [3, 4, 17, 150, 400])
def test_bare_values_are_scipys(n: int) -> None:
    x, y = draw_tied(n, n)
    y[0] += 1.0  # never constant, even with three points
    assert correlation.values(x, y) == pytest.approx(scipy_values(x, y), nan_ok=True)


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
    for estimate in correlation.coefficients(np.array(x), np.array(y)).values():
        assert math.isnan(estimate.value)
        assert (estimate.note, estimate.p, estimate.n) == (why, None, len(x))
    assert all(math.isnan(v) for v in correlation.values(np.array(x), np.array(y)).values())


def test_two_points_have_a_value_that_says_nothing() -> None:
    for y, sign in ((np.array([1.0, 5.0]), 1.0), (np.array([5.0, 1.0]), -1.0)):
        for estimate in correlation.coefficients(np.array([0.2, 0.9]), y).values():
            assert (estimate.value, estimate.p, estimate.note) == (sign, None, correlation.TWO_POINTS)
    assert all(math.isnan(v) for v in correlation.values(np.array([0.2, 0.9]), np.array([1.0, 5.0])).values())


def test_perfect_order_of_three_points() -> None:
    found = correlation.coefficients(np.array([1.0, 2.0, 4.0]), np.array([10.0, 20.0, 40.0]))
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


def assert_alike(found: dict[str, Array], expected: dict[str, Array], tolerance: float = 1e-12) -> None:
    for name in COEFFICIENTS:
        np.testing.assert_allclose(found[name], expected[name], atol=tolerance, err_msg=name)


@pytest.mark.parametrize(("n", "levels"), [(2, 2), (3, 2), (5, 2), (40, 5), (120, 100)])
def test_resampled_equals_the_literal_loop(n: int, levels: int) -> None:
    x, y = draw_tied(n, n, levels)
    found, expected = correlation.resample_coefficients(x, y, n_bootstrap=200, seed=7), literal(x, y, 200, 7)
    assert_alike(found, expected)


def test_whole_clusters_are_drawn() -> None:
    x, y = draw_tied(40, 40, 5)
    cluster = np.random.default_rng(0).permutation(np.arange(40) % 7)
    found = correlation.resample_coefficients(x, y, n_bootstrap=100, seed=7, cluster=cluster)
    expected = literal(x, y, 100, 7, cluster)
    assert_alike(found, expected)


def test_scores_of_very_different_size_lose_no_digits() -> None:
    rng = np.random.default_rng(2)
    x = 10.0 ** rng.uniform(-19, 0, 60) + np.where(np.arange(60) == 5, 1e6, 0.0)
    y = rng.integers(1, 6, 60).astype(float)
    found, expected = correlation.resample_coefficients(x, y, n_bootstrap=100, seed=0), literal(x, y, 100, 0)
    assert_alike(found, expected, 1e-9)


def test_the_loop_for_large_sets_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = draw_tied(30, 5, 2)
    x[:20] = 1.0  # so that some resamples are constant
    by_matrix = correlation.resample_coefficients(x, y, n_bootstrap=300, seed=1)
    monkeypatch.setattr(correlation, "MATRIX_LIMIT", 10)
    by_loop = correlation.resample_coefficients(x, y, n_bootstrap=300, seed=1)
    assert_alike(by_loop, by_matrix)


def test_a_constant_resample_has_no_value() -> None:
    x = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.7])  # a resample without the last point is constant, though 6·0.1/6 ≠ 0.1
    found = correlation.resample_coefficients(x, np.arange(6.0), n_bootstrap=500, seed=0)
    empty = np.concatenate([block[:, 5] == 0 for block in bootstrap_counts(6, 500, 0)])
    full = np.concatenate([block[:, 5] == 6 for block in bootstrap_counts(6, 500, 0)])
    assert empty.sum() > 100
    for name in COEFFICIENTS:
        np.testing.assert_array_equal(np.isnan(found[name]), empty | full)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12), st.integers(0, 99))
def test_resamples_of_any_ties_equal_scipy(pairs: list[tuple[int, int]], seed: int) -> None:
    x, y = np.array(pairs, dtype=float).T
    found, expected = correlation.resample_coefficients(x, y, n_bootstrap=5, seed=seed), literal(x, y, 5, seed)
    assert_alike(found, expected)


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
    first, second = correlation.values(x, y), correlation.values(x * scale + origin, y)
    assert second == pytest.approx(first, nan_ok=True, abs=1e-9)
    assert correlation.values(-x, y) == pytest.approx({k: -v for k, v in first.items()}, nan_ok=True, abs=1e-9)


def plain_pearson(x: Array, y: Array) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def table(**options: Any) -> Any:
    users = [Rating(1.0, f"user {i % 4}", "another", INTERLOCUTOR) for i in range(len(rated()))]
    samples = [replace(s, ratings=(*s.ratings, user)) for s, user in zip(rated(), users, strict=True)]
    scores = scored(samples, a=follow(samples, 1.0, 1), b=follow(samples, 2.0, 2))
    return meta_evaluate(scores, samples, n_bootstrap=60, n_permutations=60, lower_is_better=False, **options)


@pytest.mark.parametrize("by", get_args(By))
def test_a_function_gives_what_the_built_in_coefficient_gives(by: By) -> None:
    found = table(by=by, coefficients={"pearson": "pearson", "mine": plain_pearson})
    for row in found.rows:
        built_in, own = row.with_mean["pearson"], row.with_mean["mine"]
        assert (own.value, own.n, *own.ci) == pytest.approx((built_in.value, built_in.n, *built_in.ci), abs=1e-9)
        assert row.with_annotators["mine"].mean == pytest.approx(row.with_annotators["pearson"].mean)
    for split in found.users:
        for part in (split.overall, split.between, split.within, split.averaged):
            assert part["mine"].value == pytest.approx(part["pearson"].value)
            assert part["mine"].ci == pytest.approx(part["pearson"].ci)
    tests = {c.coefficient: c for c in found.comparisons}
    assert tests["mine"].difference == pytest.approx(tests["pearson"].difference)
    assert tests["mine"].permutation_p == tests["pearson"].permutation_p
    assert found.human.split_half["mine"].value == pytest.approx(found.human.split_half["pearson"].value)


def test_results_of_scipy_will_do_and_only_what_was_asked_for_is_there() -> None:
    found = table(coefficients=["spearman", stats.somersd])
    for row in found.rows:
        assert list(row.with_mean) == ["spearman", "somersd"]
        assert -1 <= row.with_mean["somersd"].value <= 1
    assert {c.coefficient for c in found.comparisons} == {"spearman", "somersd"}
    assert found.signature.parts["coefficients"].startswith("spearman,somersd=scipy.stats")


def test_the_built_in_ones_leave_no_trace_in_the_signature() -> None:
    assert check_coefficients(["pearson", "spearman", "kendall"]) == BUILT_IN
    assert "coefficients" not in table().signature.parts
    assert table(coefficients=BUILT_IN) == table()


def test_constant_scores_are_undefined_whatever_the_function() -> None:
    samples = rated()
    flat = meta_evaluate(scored(samples, m=np.ones(len(samples))), samples, coefficients={"mine": plain_pearson})
    assert np.isnan(flat.rows[0].with_mean["mine"].value)
    assert flat.rows[0].with_mean["mine"].note == "constant scores"


@pytest.mark.parametrize(
    ("coefficients", "message"),
    [
        (["pearsn"], "unknown coefficient 'pearsn'; did you mean 'pearson'"),
        ([], "no coefficient is given"),
        ([plain_pearson, plain_pearson], "two coefficients are called 'plain_pearson'"),
        ({"mine": lambda _x, _y: "high"}, "must return a number, got 'high'"),
    ],
)
def test_what_is_not_a_coefficient_is_refused(coefficients: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        table(coefficients=coefficients)

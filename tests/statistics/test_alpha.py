from __future__ import annotations

import math

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq import Rating, Sample
from interloq.agree.judgments import Judgments, collect
from interloq.statistics import alpha
from interloq.statistics.alpha import alphas
from interloq.statistics.estimate import Estimate
from interloq.statistics.resampling import bootstrap_counts, percentile_interval

NA: float | None = None
# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section C: four observers, twelve units.
# He gives .815 for ordinal and .849 for interval data.
WORKED: list[list[float | None]] = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NA, NA, NA],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NA, 3],
    [NA, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NA],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NA],
]


def make_judgments(table: list[list[float | None]], *, named: bool = True) -> Judgments:
    """A row an annotator, a column a sample."""
    samples = []
    for i, column in enumerate(zip(*table, strict=True)):
        ratings = [Rating(value, f"r{j}" if named else "") for j, value in enumerate(column)]
        samples.append(Sample(f"{i:04d}", "c", "r", ratings=ratings))
    return collect(samples)


def alphas_of(judgments: Judgments, *, n_bootstrap: int, seed: int) -> tuple[Estimate, Estimate]:
    return alphas(judgments.value, judgments.sample, n_bootstrap=n_bootstrap, seed=seed)


def oracle(table: list[list[float | None]], level: str) -> float:
    data = np.array([[math.nan if v is None else v for v in row] for row in table], dtype=float)
    return float(krippendorff.alpha(reliability_data=data, level_of_measurement=level))  # type: ignore[arg-type]


@pytest.mark.parametrize("named", [True, False])
def test_the_worked_example(named: bool) -> None:
    interval, ordinal = alphas_of(make_judgments(WORKED, named=named), n_bootstrap=0, seed=0)
    assert (round(interval.value, 3), round(ordinal.value, 3)) == (0.849, 0.815)
    assert (interval.n, interval.ci) == (11, None)  # the last unit has one judgment


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.sampled_from([1.0, 2.0, 2.5, 7.0])), min_size=3, max_size=3),
        min_size=2,
        max_size=10,
    )
)
def test_any_table_equals_the_public_implementation(columns: list[list[float | None]]) -> None:
    values = [v for column in columns for v in column if v is not None]
    paired = [v for column in columns for v in column if v is not None and sum(x is not None for x in column) > 1]
    if not values:
        return
    table = [list(row) for row in zip(*columns, strict=True)]
    for found, level in zip(
        alphas_of(make_judgments(table), n_bootstrap=0, seed=0), ("interval", "ordinal"), strict=True
    ):
        if len(set(paired)) < 2:
            assert math.isnan(found.value)
            assert found.note
        else:
            assert found.value == pytest.approx(oracle(table, level))


def test_interval_equals_literal_resampling_of_samples() -> None:
    rng = np.random.default_rng(0)
    true = rng.integers(1, 6, 30)
    table = [
        [float(np.clip(t + rng.integers(-1, 2), 1, 5)) if rng.random() < 0.8 else None for t in true] for _ in "abc"
    ]
    kept = [c for c in zip(*table, strict=True) if sum(v is not None for v in c) > 1]
    resampled: dict[str, list[float]] = {"interval": [], "ordinal": []}
    for block in bootstrap_counts(len(kept), 200, 5):
        for drawn in block:
            columns = [kept[i] for i, count in enumerate(drawn) for _ in range(count)]
            for level, values in resampled.items():
                values.append(oracle([list(row) for row in zip(*columns, strict=True)], level))
    for found, values in zip(
        alphas_of(make_judgments(table), n_bootstrap=200, seed=5), resampled.values(), strict=True
    ):
        assert found.ci == pytest.approx(percentile_interval(np.array(values)))
        assert found.ci is not None
        assert found.ci[0] < found.value < found.ci[1]


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = alphas_of(make_judgments(WORKED), n_bootstrap=100, seed=1)
    monkeypatch.setattr(alpha, "BLOCK", 64)
    assert alphas_of(make_judgments(WORKED), n_bootstrap=100, seed=1) == whole


def test_a_slider_with_a_thousand_values_needs_no_matrix_of_values() -> None:
    rng = np.random.default_rng(1)
    true = rng.random(400)
    table = [[float(v) for v in true + rng.normal(scale=0.1, size=400)] for _ in range(3)]
    interval, ordinal = alphas_of(make_judgments(table), n_bootstrap=50, seed=0)  # type: ignore[arg-type]
    assert 0.8 < interval.value < 0.95
    assert interval.ci is not None
    assert ordinal.value == pytest.approx(interval.value, abs=0.05)


@pytest.mark.parametrize(
    ("table", "why"),
    [([[1, 2, 3], [NA, NA, NA]], "no sample has two judgments"), ([[4, 4], [4, 4]], "constant judgments")],
)
def test_undefined_alpha_says_why(table: list[list[float | None]], why: str) -> None:
    for found in alphas_of(make_judgments(table), n_bootstrap=100, seed=0):
        assert math.isnan(found.value)
        assert (found.note, found.ci) == (why, None)

"""Reliability and temperature scaling against literal loops, a general optimiser and made data."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from interloq.errors import InputError
from interloq.learn.calibrate import (
    Array,
    CalibrationBin,
    brier_score,
    calibration,
    calibration_error,
    fit_temperature,
    negative_log_likelihood,
    probabilities,
    reliability,
)

LOGITS = st.lists(st.tuples(st.floats(-30, 30), st.booleans()), min_size=1, max_size=40)


def made(n: int, *, sharpness: float = 1.0, seed: int = 0) -> tuple[Array, Array]:
    """Labels drawn from true probabilities, and logits that claim them `sharpness` times too surely."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 2, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(np.float64)
    return sharpness * z, y


def test_a_table_worked_by_hand() -> None:
    p = [0.0, 0.1, 0.25, 0.5, 0.74, 0.75, 1.0]
    y = [0, 1, 0, 1, 1, 1, 0]
    table = reliability(p, y, bins=4)
    assert [(row.low, row.high, row.count) for row in table] == [
        (0.0, 0.25, 2),  # an edge belongs to the upper bin
        (0.25, 0.5, 1),
        (0.5, 0.75, 2),
        (0.75, 1.0, 2),  # 1 belongs to the last
    ]
    assert [row.confidence for row in table] == pytest.approx([0.05, 0.25, 0.62, 0.875])
    assert [row.positive for row in table] == pytest.approx([0.5, 0.0, 1.0, 0.5])
    assert calibration_error(table) == pytest.approx((2 * 0.45 + 0.25 + 2 * 0.38 + 2 * 0.375) / 7)


@given(LOGITS, st.integers(1, 15))
def test_the_same_as_literal_loops(pairs: list[tuple[float, bool]], bins: int) -> None:
    z, y = [z for z, _ in pairs], [int(label) for _, label in pairs]
    p = [float(value) for value in probabilities(z)]
    table = reliability(p, y, bins=bins)
    error = 0.0
    for b, row in enumerate(table):
        mine = [i for i in range(len(p)) if b / bins <= p[i] and (p[i] < (b + 1) / bins or b == bins - 1)]
        assert row.count == len(mine)
        if not mine:
            assert row == CalibrationBin(b / bins, (b + 1) / bins, 0, None, None)
            continue
        confidence, positive = sum(p[i] for i in mine) / len(mine), sum(y[i] for i in mine) / len(mine)
        assert (row.confidence, row.positive) == pytest.approx((confidence, positive))
        error += len(mine) / len(p) * abs(confidence - positive)
    assert calibration_error(table) == pytest.approx(error)
    assert brier_score(p, y) == pytest.approx(sum((a - b) ** 2 for a, b in zip(p, y, strict=True)) / len(p))
    losses = [math.log1p(math.exp(-v if label else v)) for v, label in zip(z, y, strict=True)]
    assert negative_log_likelihood(z, y) == pytest.approx(sum(losses) / len(losses))


def test_honest_probabilities_have_almost_no_error_and_need_no_scaling() -> None:
    z, y = made(200_000)
    facts = calibration(z, y)
    assert facts["ece"] < 0.005
    assert facts["temperature"] == pytest.approx(1, abs=0.02)
    assert sum(row["count"] for row in facts["bins"]) == 200_000


@pytest.mark.parametrize("sharpness", [0.4, 3.0])
def test_scaling_finds_how_much_too_sure_a_rater_is(sharpness: float) -> None:
    z, y = made(100_000, sharpness=sharpness)
    facts = calibration(z, y)
    assert facts["temperature"] == pytest.approx(sharpness, rel=0.02)
    assert facts["ece"] > 0.05
    for name in ("ece", "brier", "nll"):
        assert facts["scaled"][name] < facts[name]
    assert facts["scaled"]["ece"] < 0.01


@settings(deadline=None)
@given(LOGITS)
def test_scaling_is_never_worse_and_no_other_temperature_is_better(pairs: list[tuple[float, bool]]) -> None:
    z, y = np.array([z for z, _ in pairs]), np.array([float(label) for _, label in pairs])
    found = fit_temperature(z, y)
    assert found == fit_temperature(z[::-1], y[::-1]) or found == pytest.approx(fit_temperature(z[::-1], y[::-1]))
    loss = negative_log_likelihood(z / found, y)
    assert loss <= negative_log_likelihood(z, y)

    def other(log_t: float) -> float:
        return negative_log_likelihood(z / math.exp(log_t), y)

    best = minimize_scalar(other, bounds=(math.log(0.01), math.log(100)), method="bounded", options={"xatol": 1e-10})
    assert loss <= float(best.fun) + 1e-9


def test_the_ends_of_the_scale() -> None:
    assert fit_temperature([1.0, -2.0], [1, 0]) == pytest.approx(0.01)  # all right: ever surer
    assert fit_temperature([1.0, -2.0], [0, 1]) == pytest.approx(100)  # all wrong: ever humbler
    assert fit_temperature([0.0, 0.0], [0, 1]) == 1  # nothing to scale
    assert fit_temperature([0, 0, 1e-13, 1e-13], [0, 0, 1, 0]) == 1  # nothing but rounding would be gained
    assert probabilities([-1e4, 1e4]).tolist() == [0, 1]
    assert negative_log_likelihood([-1e4], [1]) == 1e4


@pytest.mark.parametrize(
    ("values", "labels", "said"),
    [
        ([0.5], [1, 0], "shapes (1,) and (2,)"),
        ([], [], "shapes (0,) and (0,)"),
        ([0.5, 0.5], [1, 2], "labels must be 0 or 1, got 2"),
        ([0.5, 1.5], [1, 0], "from 0 to 1"),
        ([0.5, float("nan")], [1, 0], "from 0 to 1"),
    ],
)
def test_mistakes_are_named(values: list[float], labels: list[int], said: str) -> None:
    with pytest.raises(InputError) as error:
        reliability(values, labels)
    assert said in str(error.value)


def test_logits_must_be_finite() -> None:
    with pytest.raises(InputError, match="logits must be finite"):
        fit_temperature([math.inf], [1])
    with pytest.raises(InputError, match="bins must be at least 1"):
        reliability([0.5], [1], bins=0)

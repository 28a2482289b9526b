"""Rounding errors are told from differences at any scale."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq.statistics.rounding import mean_of, round_mean, typical_size

SCALES = [1e-200, 1e-14, 1e-11, 1.0, 1e9, 1e80]


@pytest.mark.parametrize("scale", SCALES)
def test_equal_means_tie_in_any_order_and_different_ones_do_not(scale: float) -> None:
    thirds = [0.1, 0.2, 0.7]
    means = [sum(x * scale for x in order) / 3 for order in (thirds, thirds[::-1], [1 / 3] * 3)]
    first, second, third = round_mean(means, [scale] * 3)
    assert first == second == third
    near = round_mean([scale, scale * (1 + 1e-9)], scale)
    assert near[0] < near[1]


@pytest.mark.parametrize("scale", SCALES)
def test_what_vanishes_beside_its_terms_is_zero(scale: float) -> None:
    values = [0.1 * scale, 0.2 * scale, -0.3 * scale]
    assert round_mean(sum(values) / 3, scale) == 0
    assert mean_of(values) == 0
    assert mean_of([scale * 1e-9]) == pytest.approx(scale * 1e-9)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=9), st.randoms())
def test_a_mean_does_not_depend_on_the_order(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert mean_of(values) == mean_of(shuffled)
    assert mean_of(values) == pytest.approx(math.fsum(values) / len(values), rel=1e-10, abs=1e-6)


def test_missing_infinite_and_tiny_values_are_kept() -> None:
    found = round_mean([math.nan, math.inf, 1e-307, 0.0], [1.0, 1.0, 0.0, 0.0])
    assert math.isnan(found[0])
    assert list(found[1:]) == [math.inf, 1e-307, 0.0]


def test_the_typical_size_ignores_signs_and_missing_values() -> None:
    assert typical_size(np.array([-1.0, 3.0]), np.array([math.nan, 2.0])) == 2
    assert typical_size() == 0


def test_twelve_digits_are_kept_and_the_rest_is_rounded() -> None:
    assert round_mean([1.23456789012345, 123456789012.345, 1234567890123.45], 1.0).tolist() == [
        1.23456789012, 123456789012.0, 1234567890120.0,
    ]  # fmt: skip
    assert mean_of([1.23456789012345]) == 1.23456789012
    assert mean_of([1.0, -1.0, 1.0, -1.0 + 1.2e-11]) == pytest.approx(3e-12, rel=1e-3)  # beside a mean size of 1

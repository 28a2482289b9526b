"""Axes, and lines with bands."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from interloq.report.marks import Mark
from interloq.report.plots import AxisScale, LinePlot, line_plot, scale, whole_scale
from interloq.statistics.estimate import Estimate

FINITE = st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-6)


@given(st.lists(FINITE, min_size=1, max_size=20), st.integers(2, 8))
def test_a_scale_holds_its_values_between_round_ends(values: list[float], about: int) -> None:
    axis = scale(values, about=about)
    margin = 1e-6 * axis.step
    assert axis.low - margin <= min(values) <= max(values) <= axis.high + margin
    assert all(-0.1 <= float(axis.at(value)) <= 100.1 for value in values)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= about + 3
    assert ticks[0] == pytest.approx(axis.low, abs=margin)
    assert ticks[-1] == pytest.approx(axis.high, abs=margin)
    mantissa = axis.step / 10 ** math.floor(math.log10(axis.step) + 1e-9)
    assert min(abs(mantissa - nice) for nice in (1, 2, 5)) < 1e-6


@given(st.lists(FINITE, min_size=2, max_size=20, unique=True))
def test_a_scale_labels_its_ticks_apart(values: list[float]) -> None:
    assume(max(values) - min(values) > 1e-3 * max(abs(v) for v in values))
    axis = scale(values)
    labels = [axis.label(tick) for tick in axis.ticks()]
    assert len(set(labels)) == len(labels)


EXTREMES = [1e308, -1e308, 1.7e308, -1.7e308, 5e-324, 1e-310, 0.0, 1.0]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(EXTREMES), min_size=1, max_size=5))
def test_no_number_is_too_extreme_for_an_axis(values: list[float]) -> None:
    axis = scale(values)
    assert math.isfinite(axis.low)
    assert math.isfinite(axis.high)
    assert axis.low < axis.high
    assert 1 <= len(axis.ticks()) <= 12
    assert all(-0.1 <= float(axis.at(value)) <= 100.1 for value in values)
    assert all(len(axis.label(tick)) < 320 for tick in axis.ticks())


def test_a_scale_without_values_is_still_a_scale() -> None:
    axis = scale([float("nan")])
    assert (axis.low, axis.high) == (0, 1)


def test_whole_numbers_have_whole_ticks() -> None:
    assert whole_scale([3]).ticks() == [2, 3, 4]
    assert whole_scale([1, 2, 3]).ticks() == [1, 2, 3]
    assert whole_scale([1, 40]).ticks() == [0, 10, 20, 30, 40]


def plot(*lines: Sequence[tuple[float, Estimate]]) -> LinePlot:
    return line_plot({Mark(f"m{i}", i, i): line for i, line in enumerate(lines)}, AxisScale(0, 10, 5))


def test_a_line_goes_through_its_values_and_a_band_around_its_intervals() -> None:
    made = plot([(0, Estimate(1.0, 3)), (5, Estimate(0.5, 3, (0.0, 1.0))), (10, Estimate(0.0, 3, (0.0, 0.5)))])
    ((mark, points),) = made.lines.items()
    assert mark.system == "m0"
    picture = made.picture
    assert [(picture.at_x(x), picture.at_y(y)) for x, y, _ in points] == [
        ("72.0", "14.0"), ("330.0", "177.0"), ("588.0", "340.0"),
    ]  # fmt: skip
    assert picture.band(points) == "330.0,340.0 588.0,340.0 588.0,177.0 330.0,14.0"
    assert [picture.x.label(tick) for tick in picture.x.ticks()] == ["0", "5", "10"]


def test_missing_values_are_not_drawn_and_many_lines_have_no_bands() -> None:
    points = [(0, Estimate(0.5, 3, (0.4, 0.6))), (5, Estimate(math.nan, 0)), (10, Estimate(0.5, 3, (0.4, 0.6)))]
    made = plot(points)
    assert [len(line) for line in made.lines.values()] == [2]
    assert [made.picture.band(line[:n]) == "" for line in made.lines.values() for n in (1, 2)] == [True, False]
    assert [plot(*[points] * n).has_bands for n in (4, 5)] == [True, False]

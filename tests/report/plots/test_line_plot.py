"""Lines with bands."""

from __future__ import annotations

import math
from collections.abc import Sequence

from interloq.report.elements import Mark
from interloq.report.plots.line_plot import LinePlot, cell, estimated, line_plot
from interloq.report.plots.scale import AxisScale
from interloq.statistics.estimate import Estimate


def plot(*lines: Sequence[tuple[float, Estimate]]) -> LinePlot:
    marks = {Mark(f"m{i}", i, i): line for i, line in enumerate(lines)}
    return line_plot(marks, AxisScale(0, 10, 5), title="t", caption="c", x_title="x", y_title="y", columns=(), rows=())


def test_a_line_goes_through_its_values_and_a_band_around_its_intervals() -> None:
    found = plot([(0, Estimate(1.0, 3)), (5, Estimate(0.5, 3, (0.0, 1.0))), (10, Estimate(0.0, 3, (0.0, 0.5)))])
    (line,) = found.lines
    assert [(dot.x, dot.y) for dot in line.dots] == [("72.0", "14.0"), ("330.0", "177.0"), ("588.0", "340.0")]
    assert line.band == "330.0,340.0 588.0,340.0 588.0,177.0 330.0,14.0"
    assert line.dots[1].title == "m0, 5: 0.500 [0.000, 1.000]"
    assert [tick.label for tick in found.x_ticks] == ["0", "5", "10"]


def test_missing_values_are_not_drawn_and_many_lines_have_no_bands() -> None:
    points = [(0, Estimate(0.5, 3, (0.4, 0.6))), (5, Estimate(math.nan, 0)), (10, Estimate(0.5, 3, (0.4, 0.6)))]
    assert [len(line.dots) for line in plot(points).lines] == [2]
    assert plot(points).lines[0].band
    assert [line.band for line in plot(*[points] * 5).lines] == [""] * 5


def test_values_have_their_intervals() -> None:
    assert estimated(Estimate(-0.5, 3, (-1.0, 0.0)), 1) == "\N{MINUS SIGN}0.5 [\N{MINUS SIGN}1.0, 0.0]"
    assert (cell(Estimate(math.nan, 0)).value, cell(Estimate(0.5, 1)).interval) == ("n/a", "")

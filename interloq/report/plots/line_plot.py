# SPDX-License-Identifier: Apache-2.0
"""Several lines in one plot, with bands for their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from interloq.report import text
from interloq.report.elements import Cell, Mark, Tick
from interloq.report.plots.scale import AxisScale
from interloq.report.sections.curves import BOTTOM, LEFT, RIGHT, TOP, Dot
from interloq.statistics.estimate import Estimate

UNIT = AxisScale(0.0, 1.0, 0.2)
MOST_BANDS = 4  # with more lines, bands hide each other


@dataclass(frozen=True, slots=True)
class PlotLine:
    """One line of a plot."""

    mark: Mark
    dots: tuple[Dot, ...]
    band: str  # corners of the interval's band; empty if it is not drawn


@dataclass(frozen=True, slots=True)
class LinePlot:
    """A plot of values from 0 to 1, with the same numbers as a table."""

    title: str
    caption: str
    lines: tuple[PlotLine, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_title: str
    y_title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def line_plot(
    lines: Mapping[Mark, Sequence[tuple[float, Estimate]]],
    x: AxisScale,
    *,
    title: str,
    caption: str,
    x_title: str,
    y_title: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str, ...]],
) -> LinePlot:
    """Plot lines through points with intervals; points without a value are left out."""
    plot_lines = []
    for mark, points in lines.items():
        known_points = [point for point in points if isfinite(point[1].value)]
        plot_lines.append(_line(mark, known_points, x, band=len(lines) <= MOST_BANDS))
    return LinePlot(
        title=title,
        caption=caption,
        lines=tuple(plot_lines),
        x_ticks=x.axis(LEFT, RIGHT),
        y_ticks=UNIT.axis(BOTTOM, TOP),
        x_title=x_title,
        y_title=y_title,
        columns=tuple(columns),
        rows=tuple(rows),
    )


def estimated(estimate: Estimate, digits: int = 3) -> str:
    """A value and its interval."""
    return f"{text.number(estimate.value, digits)} {text.interval(estimate.ci, digits)}".rstrip()


def cell(estimate: Estimate) -> Cell:
    """A value and its interval, for a table."""
    return Cell(text.number(estimate.value), text.interval(estimate.ci))


def _line(mark: Mark, points: Sequence[tuple[float, Estimate]], x: AxisScale, *, band: bool) -> PlotLine:
    dots, lower, upper = [], [], []
    for at, estimate in points:
        place, title = x.at(at, LEFT, RIGHT), f"{mark.system}, {at:,.4g}: {estimated(estimate)}"
        dots.append(Dot(place, UNIT.at(estimate.value, BOTTOM, TOP), title))
        if estimate.ci and all(map(isfinite, estimate.ci)):
            low, high = estimate.ci
            lower.append(f"{place},{UNIT.at(low, BOTTOM, TOP)}")
            upper.append(f"{place},{UNIT.at(high, BOTTOM, TOP)}")
    corners = ""
    if band and len(lower) > 1:
        corners = " ".join([*lower, *reversed(upper)])
    return PlotLine(mark, tuple(dots), corners)

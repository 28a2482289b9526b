# SPDX-License-Identifier: Apache-2.0
"""Plots: axes with round ticks, positions of values in a picture, and lines with bands for their intervals.

Axes work for numbers of any size. Positions are texts, as SVG writes them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interloq.agree.continuity_table import ContinuityTable
from interloq.rank.convergence import ConvergencePoint
from interloq.rank.survival import Survival
from interloq.reliability.curve import AgreementCurve, AgreementPoint
from interloq.report.marks import COLOURS, SHAPES, Mark
from interloq.report.text import is_bounded, number
from interloq.statistics.estimate import Estimate

LARGEST = sys.float_info.max
SMALLEST = 1e-300  # below this, steps underflow: such values are drawn as 0
LEFT, RIGHT, TOP, BOTTOM = 72, 588, 14, 340  # the plot's area in a picture of 600 × 400
START = Estimate(1.0, 0)  # of survival, before the first turn
MOST_BANDS = 4  # with more lines, bands hide each other
PlotPoint = tuple[float, float, Any]  # x, y, and what is drawn there


@dataclass(frozen=True, slots=True)
class AxisScale:
    """An axis with round ends and steps."""

    low: float
    high: float
    step: float

    def at(self, value: float, start: float = 0, end: float = 100) -> str:
        """Return the position of a value, by default in percent of the axis."""
        width = self.high / 2 - self.low / 2  # halves, because the difference could overflow
        share = (value / 2 - self.low / 2) / width
        return f"{start + share * (end - start):.1f}"

    def ticks(self) -> list[float]:
        """Return the values of the ticks."""
        first, last = round(self.low / self.step), round(self.high / self.step)
        return [tick for i in range(first, last + 1) if math.isfinite(tick := i * self.step)]

    def label(self, value: float) -> str:
        """Format a value with as many digits as the step needs."""
        return number(value, max(0, -math.floor(math.log10(self.step) + 1e-9)))


def scale(values: Iterable[float], *, about: int = 5) -> AxisScale:
    """Return a scale with round ends that includes all finite values, in `about` steps."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    if max(abs(low), abs(high)) < SMALLEST:
        low = high = 0.0
    half = high / 2 - low / 2
    if half <= 0.5e-9 * max(abs(low), abs(high)):  # one value: some room on both sides
        half = abs(high) / 2 or 0.5
        low, high = max(low - half, -LARGEST), min(high + half, LARGEST)
    rough = half / about * 2
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1, 2, 5, 10) if rough <= power * nice * (1 + 1e-9))
    ends = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return AxisScale(max(ends[0], -LARGEST), min(ends[1], LARGEST), step)


def scale_of(rows: Iterable[Any], value: str = "value") -> AxisScale:
    """Return a scale that includes this value of all rows and the ends of their intervals."""
    values: list[float] = []
    for row in rows:
        values += (getattr(row, value), *(row.ci or ()))
    return scale(values)


def whole_scale(numbers: Sequence[int]) -> AxisScale:
    """Return a scale with ticks at whole numbers only."""
    if len(set(numbers)) == 1:
        return AxisScale(numbers[0] - 1, numbers[0] + 1, 1)
    step = max(1, round(scale(numbers, about=6).step))
    return AxisScale(min(numbers) // step * step, -(-max(numbers) // step) * step, step)


UNIT = AxisScale(0.0, 1.0, 0.2)


@dataclass(frozen=True, slots=True)
class Picture:
    """The axes of a plot, and where values are in its picture."""

    x: AxisScale
    y: AxisScale
    right: int = RIGHT

    def at_x(self, value: float) -> str:
        """Return the horizontal position of a value."""
        return self.x.at(value, LEFT, self.right)

    def at_y(self, value: float) -> str:
        """Return the vertical position of a value."""
        return self.y.at(value, BOTTOM, TOP)

    def band(self, points: Iterable[PlotPoint]) -> str:
        """Return the corners of the band around estimates with an interval; empty if there are fewer than two."""
        lower, upper = [], []
        for x, _, estimate in points:
            if is_bounded(estimate.ci):
                lower.append(f"{self.at_x(x)},{self.at_y(estimate.ci[0])}")
                upper.append(f"{self.at_x(x)},{self.at_y(estimate.ci[1])}")
        if len(lower) < 2:
            return ""
        return " ".join([*lower, *reversed(upper)])


def plot_points(rows: Iterable[Any], x: str, y: str) -> list[PlotPoint]:
    """Return the fields `x` and `y` of each row, with the row; rows whose y is not finite are left out."""
    points = [(getattr(row, x), getattr(row, y), row) for row in rows]
    return [point for point in points if math.isfinite(point[1])]


@dataclass(frozen=True, slots=True)
class LinePlot:
    """Lines of estimates from 0 to 1."""

    picture: Picture
    lines: Mapping[Mark, Sequence[PlotPoint]]

    @property
    def has_bands(self) -> bool:
        """Whether the intervals are drawn."""
        return len(self.lines) <= MOST_BANDS


def line_plot(estimates: Mapping[Mark, Iterable[tuple[float, Estimate]]], x: AxisScale) -> LinePlot:
    """Plot lines through estimates; estimates without a value are left out."""
    lines = {}
    for mark, line in estimates.items():
        lines[mark] = [(at, estimate.value, estimate) for at, estimate in line if math.isfinite(estimate.value)]
    return LinePlot(Picture(x, UNIT), lines)


def survival_plot(curves: Sequence[Survival], marks: Mapping[str, Mark]) -> LinePlot:
    """Plot how long people would stay with each system."""
    last = max(len(curve.turns) for curve in curves)
    lines = {marks[curve.system]: [(0, START), *enumerate(curve.turns, start=1)] for curve in curves}
    return line_plot(lines, whole_scale([0, last]))


def convergence_plot(points: Sequence[ConvergencePoint]) -> LinePlot:
    """Plot how well rankings from different dialogues agree, by their number."""
    line = [(point.dialogues, point.agreement) for point in points]
    return line_plot({Mark("pairs of systems in the same order", 0, 0): line}, whole_scale([0, points[-1].dialogues]))


def continuity_plot(table: ContinuityTable, measure: str) -> LinePlot:
    """Plot one measure by training size: one line per metric, at its first threshold."""
    means = [group.mean for group in table.groups]
    lines: dict[Mark, list[tuple[float, Estimate]]] = {}
    drawn_metrics: set[str] = set()
    for i, row in enumerate(table.rows):
        if row.metric not in drawn_metrics:
            drawn_metrics.add(row.metric)
            mark = Mark(f"{row.metric}, {row.threshold}", len(lines) % COLOURS, len(lines) % SHAPES)
            by_group = [group.rows[i].measures[measure] for group in table.groups]
            lines[mark] = list(zip(means, by_group, strict=True))
    return line_plot(lines, scale([0, *means]))


def reference_picture(curve: AgreementCurve) -> Picture:
    """Return the axes for agreement by number of references."""
    points = [*curve.arm("query", noisy=False), *curve.arm("query", noisy=True)]
    return Picture(whole_scale([point.references for point in points]), scale(point.value for point in points))


def reference_steps(curve: AgreementCurve) -> list[tuple[int, int, AgreementPoint | None, AgreementPoint | None]]:
    """Return each step of a curve: references, references of other queries, and its points by query and over all."""
    points = {(point.references, point.foreign, point.level): point for point in curve.points}
    steps = dict.fromkeys((point.references, point.foreign) for point in curve.points)
    return [(*step, points.get((*step, "query")), points.get((*step, "all"))) for step in steps]

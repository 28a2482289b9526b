# SPDX-License-Identifier: Apache-2.0
"""Several lines in one drawing, with bands for their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from interloq.meta.table import Estimate
from interloq.report import text
from interloq.report.curves import BOTTOM, LEFT, RIGHT, TOP, Dot
from interloq.report.elements import Cell, Mark, Tick
from interloq.report.scale import Scale

UNIT = Scale(0.0, 1.0, 0.2)
MOST_BANDS = 4  # with more lines, bands hide each other


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a drawing."""

    mark: Mark
    dots: tuple[Dot, ...]
    band: str  # corners of the interval's band; empty if it is not drawn


@dataclass(frozen=True, slots=True)
class LinePlot:
    """A drawing of values from 0 to 1, with the same numbers as a table."""

    title: str
    caption: str
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_title: str
    y_title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def line_plot(
    lines: Mapping[Mark, Sequence[tuple[float, Estimate]]],
    x: Scale,
    *,
    title: str,
    caption: str,
    x_title: str,
    y_title: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str, ...]],
) -> LinePlot:
    """Lines through points with intervals; points without a value are not drawn."""
    bands = len(lines) <= MOST_BANDS
    return LinePlot(
        title=title,
        caption=caption,
        lines=tuple(
            _line(mark, [p for p in points if isfinite(p[1].value)], x, bands) for mark, points in lines.items()
        ),
        x_ticks=tuple(Tick(x.at(tick, LEFT, RIGHT), x.label(tick)) for tick in x.ticks()),
        y_ticks=tuple(Tick(UNIT.at(tick, BOTTOM, TOP), UNIT.label(tick)) for tick in UNIT.ticks()),
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


def _line(mark: Mark, points: Sequence[tuple[float, Estimate]], x: Scale, band: bool) -> Line:
    dots = tuple(
        Dot(x.at(at, LEFT, RIGHT), UNIT.at(e.value, BOTTOM, TOP), f"{mark.system}, {at:,.4g}: {estimated(e)}")
        for at, e in points
    )
    known = [(x.at(at, LEFT, RIGHT), e.ci) for at, e in points if e.ci and all(map(isfinite, e.ci))] if band else []
    lower = [f"{at},{UNIT.at(ci[0], BOTTOM, TOP)}" for at, ci in known]
    upper = [f"{at},{UNIT.at(ci[1], BOTTOM, TOP)}" for at, ci in reversed(known)]
    return Line(mark, dots, " ".join([*lower, *upper]) if len(known) > 1 else "")

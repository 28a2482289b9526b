# SPDX-License-Identifier: Apache-2.0
"""How well metrics agree with people as references are added: one plot per metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from interloq.errors import count
from interloq.reliability.curve import AgreementCurve, AgreementPoint
from interloq.report import text
from interloq.report.elements import Tick
from interloq.report.plots.scale import AxisScale, scale, whole_scale
from interloq.report.sections.curves import BOTTOM, LEFT, RIGHT, TOP, Dot


@dataclass(frozen=True, slots=True)
class ReferenceCurve:
    """Correlations by number of references, with the query's own references and with those of other queries added."""

    metric: str
    clean: tuple[Dot, ...]
    noisy: tuple[Dot, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    y_title: str
    caption: str
    rows: tuple[tuple[str, ...], ...]  # references, foreign ones, and value and interval at both levels


def reference_curve(curve: AgreementCurve) -> ReferenceCurve:
    """Plot one metric: means over queries. The table has both levels."""
    clean, noisy = curve.arm("query", noisy=False), curve.arm("query", noisy=True)
    points = [*clean, *noisy]
    x, y = whole_scale([point.references for point in points]), scale(point.value for point in points)
    queries, replies = count(curve.queries, "query", "queries"), count(curve.replies, "reply", "replies")
    caption = f"{queries} with {replies}; always the same ones, so that only the references differ."
    for note in curve.notes():
        caption += f" {note[0].upper()}{note[1:]}."
    return ReferenceCurve(
        metric=curve.metric,
        clean=_dots(clean, x, y),
        noisy=_dots(noisy, x, y) if any(point.foreign for point in noisy) else (),
        x_ticks=x.axis(LEFT, RIGHT),
        y_ticks=y.axis(BOTTOM, TOP),
        y_title=f"{curve.coefficient.capitalize()}, mean over queries",
        caption=caption,
        rows=tuple(_rows(curve.points)),
    )


def _dots(points: Sequence[AgreementPoint], x: AxisScale, y: AxisScale) -> tuple[Dot, ...]:
    return tuple(
        Dot(x.at(point.references, LEFT, RIGHT), y.at(point.value, BOTTOM, TOP), _title(point))
        for point in points
        if isfinite(point.value)
    )


def _title(point: AgreementPoint) -> str:
    foreign = f", {point.foreign} of them of other queries" if point.foreign else ""
    return f"{count(point.references, 'reference')}{foreign}: {_value(point)}"


def _value(point: AgreementPoint) -> str:
    return f"{text.number(point.value)} {text.interval(point.ci)}"


def _rows(points: Sequence[AgreementPoint]) -> list[tuple[str, ...]]:
    values = {(point.references, point.foreign, point.level): _value(point) for point in points}
    steps = dict.fromkeys((point.references, point.foreign) for point in points)
    rows: list[tuple[str, ...]] = []
    for size, foreign in steps:
        by_query = values.get((size, foreign, "query"), text.MISSING)
        overall = values.get((size, foreign, "all"), text.MISSING)
        rows.append((str(size), str(foreign), by_query, overall))
    return rows

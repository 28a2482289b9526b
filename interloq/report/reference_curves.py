# SPDX-License-Identifier: Apache-2.0
"""How well metrics agree with people as references are added: one drawing per metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from interloq.errors import count
from interloq.reliability.curve import Curve, Point
from interloq.report import text
from interloq.report.curves import BOTTOM, LEFT, RIGHT, TOP, Dot
from interloq.report.elements import Tick
from interloq.report.scale import Scale, scale, whole_scale


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


def reference_curve(curve: Curve) -> ReferenceCurve:
    """The drawing of one metric: means over queries. The table has both levels."""
    clean, noisy = (curve.arm("query", noisy=noisy) for noisy in (False, True))
    drawn = [point for point in (*clean, *noisy) if isfinite(point.value)]
    x, y = whole_scale([point.references for point in (*clean, *noisy)]), scale(point.value for point in drawn)
    queries, replies = count(curve.queries, "query", "queries"), count(curve.replies, "reply", "replies")
    return ReferenceCurve(
        metric=curve.metric,
        clean=_dots(clean, x, y),
        noisy=_dots(noisy, x, y) if any(point.foreign for point in noisy) else (),
        x_ticks=tuple(Tick(x.at(tick, LEFT, RIGHT), x.label(tick)) for tick in x.ticks()),
        y_ticks=tuple(Tick(y.at(tick, BOTTOM, TOP), y.label(tick)) for tick in y.ticks()),
        y_title=f"{curve.coefficient.capitalize()}, mean over queries",
        caption=" ".join(
            [
                f"{queries} with {replies}; always the same ones, so that only the references differ.",
                *(f"{note[0].upper()}{note[1:]}." for note in curve.notes()),
            ]
        ),
        rows=tuple(_rows(curve.points)),
    )


def _dots(points: Sequence[Point], x: Scale, y: Scale) -> tuple[Dot, ...]:
    return tuple(
        Dot(x.at(point.references, LEFT, RIGHT), y.at(point.value, BOTTOM, TOP), _title(point))
        for point in points
        if isfinite(point.value)
    )


def _title(point: Point) -> str:
    foreign = f", {point.foreign} of them of other queries" if point.foreign else ""
    return f"{count(point.references, 'reference')}{foreign}: {_value(point)}"


def _value(point: Point) -> str:
    return f"{text.number(point.value)} {text.interval(point.ci)}"


def _rows(points: Sequence[Point]) -> list[tuple[str, ...]]:
    values = {(point.references, point.foreign, point.level): _value(point) for point in points}
    steps = dict.fromkeys((point.references, point.foreign) for point in points)
    return [
        (str(size), str(foreign), *(values.get((size, foreign, level), text.MISSING) for level in ("query", "all")))
        for size, foreign in steps
    ]

# SPDX-License-Identifier: Apache-2.0
"""Curves: how long people stay, replies predicted by training size, and agreement as references are added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from interloq.agree.labels.continuity_table import ContinuityTable
from interloq.rank.survival import Survival
from interloq.reliability.curve import AgreementCurve, AgreementPoint
from interloq.report.marks import COLOURS, SHAPES, Mark
from interloq.report.plots import LinePlot, Picture, line_plot, scale, whole_scale
from interloq.statistics.estimate import Estimate

START = Estimate(1.0, 0)  # before the first turn


def survival_plot(curves: Sequence[Survival], marks: Mapping[str, Mark]) -> LinePlot:
    """Plot how long people would stay with each system."""
    last = max(len(curve.turns) for curve in curves)
    lines = {marks[curve.system]: [(0, START), *enumerate(curve.turns, start=1)] for curve in curves}
    return line_plot(lines, whole_scale([0, last]))


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


def reference_steps(
    curve: AgreementCurve,
) -> list[tuple[int, int, AgreementPoint | None, AgreementPoint | None]]:
    """Return each step of a curve: references, references of other queries, and its points by query and over all."""
    points = {(point.references, point.foreign, point.level): point for point in curve.points}
    steps = dict.fromkeys((point.references, point.foreign) for point in curve.points)
    return [(*step, points.get((*step, "query")), points.get((*step, "all"))) for step in steps]

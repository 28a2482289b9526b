# SPDX-License-Identifier: Apache-2.0
"""How well metrics predict whether people reply: a table, and plots by training size of users."""

from __future__ import annotations

from dataclasses import dataclass

from interloq.agree.labels.continuity_table import BY_GROUP, MEASURES, ContinuityRow, ContinuityTable
from interloq.errors import count
from interloq.report import text
from interloq.report.elements import Cell, Mark
from interloq.report.plots.line_plot import LinePlot, cell, estimated, line_plot
from interloq.report.plots.scale import scale
from interloq.statistics.estimate import Estimate

COLOURS = SHAPES = 8


@dataclass(frozen=True, slots=True)
class PredictionRow:
    """One metric at one threshold."""

    metric: str
    threshold: str
    cells: tuple[Cell, ...]
    unscored: str


@dataclass(frozen=True, slots=True)
class Continuity:
    """The section on the prediction of replies."""

    summary: str
    columns: tuple[str, ...]
    rows: tuple[PredictionRow, ...]
    plots: tuple[LinePlot, ...]
    notes: tuple[str, ...]
    signature: str


def continuity(table: ContinuityTable) -> Continuity:
    """The section on one table."""
    table = table.labelled()
    who = f"{count(table.dialogues, 'dialogue')} of {count(table.users, 'user')}"
    return Continuity(
        summary=f"{count(table.samples, 'sample')} from {who}; {table.replied:,} have the label 1 ({table.aspect}).",
        columns=tuple(map(_capitalised, MEASURES.values())),
        rows=tuple(map(_row, table.rows)),
        plots=tuple(_plot(table, measure) for measure in BY_GROUP) if len(table.groups) > 1 else (),
        notes=table.notes,
        signature=str(table.signature),
    )


def _row(row: ContinuityRow) -> PredictionRow:
    cells = tuple(cell(row.measures[measure]) for measure in MEASURES)
    return PredictionRow(row.metric, _threshold(row), cells, f"{row.unscored:,}")


def _capitalised(name: str) -> str:
    return name[0].upper() + name[1:]


def _threshold(row: ContinuityRow) -> str:
    return f"{row.threshold} ({text.number(row.cut)})"


def _plot(table: ContinuityTable, measure: str) -> LinePlot:
    """One measure by training size: one line per metric, at its first threshold; the table has all."""
    means = [group.mean for group in table.groups]
    lines: dict[Mark, list[tuple[float, Estimate]]] = {}
    drawn_metrics: set[str] = set()
    rows = []
    for i, row in enumerate(table.rows):
        by_group = [group.rows[i].measures[measure] for group in table.groups]
        rows.append((row.metric, _threshold(row), *map(estimated, by_group)))
        if row.metric not in drawn_metrics:
            drawn_metrics.add(row.metric)
            mark = Mark(f"{row.metric}, {row.threshold}", len(lines) % COLOURS, len(lines) % SHAPES)
            lines[mark] = list(zip(means, by_group, strict=True))
    groups = [f"{group.sizes}: {count(group.users, 'user')}" for group in table.groups]
    name = MEASURES[measure]
    return line_plot(
        lines,
        scale([0, *means]),
        title=f"{_capitalised(name)} by training size",
        caption=f"Users are grouped by their number of training samples: {'; '.join(groups)}.",
        x_title="training samples per user (mean of the group)",
        y_title=name,
        columns=("Metric", "Threshold", *(f"{group.sizes} samples" for group in table.groups)),
        rows=rows,
    )

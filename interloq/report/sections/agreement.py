# SPDX-License-Identifier: Apache-2.0
"""Agreement of metrics with people and with each other: headings, the shared scale, shades of the heat map."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan

from interloq.agree.metric_similarity import Matrix
from interloq.agree.table import MetaTable, Spread
from interloq.report import text
from interloq.report.plots import AxisScale, scale
from interloq.statistics.estimate import Estimate

LABELS = {"pearson": "Pearson r", "spearman": "Spearman ρ", "kendall": "Kendall τ"}
PEOPLE = ""  # people's column in the matrix: no metric has an empty name
SHADES = 10


def label(coefficient: str) -> str:
    """Return the heading of a coefficient; user-defined coefficients have their own names."""
    return LABELS.get(coefficient, coefficient)


def agreement_scale(table: MetaTable) -> AxisScale:
    """Return a scale for all coefficients of the table and their intervals."""
    estimates: list[Estimate] = []
    for row in table.rows:
        estimates += row.with_mean.values()
    spreads: list[Spread] = []
    if table.human:
        estimates += table.human.split_half.values()
        spreads += [*table.human.pairwise.values(), *table.human.with_others.values()]
    values = [0.0]
    for estimate in estimates:
        values += (estimate.value, *(estimate.ci or ()))
    for spread in spreads:
        values += (spread.min, spread.max)
    return scale(values)


def format_spread(spread: Spread) -> str:
    """Return the lowest and the highest value of a spread."""
    return f"{text.number(spread.min, 2)} to {text.number(spread.max, 2)}"


def order_matrix(matrix: Matrix, metrics: Iterable[str]) -> Matrix:
    """Return the matrix with metrics in this order, people last."""
    at = {name: i for i, name in enumerate(matrix.names)}
    order = [name for name in (*metrics, PEOPLE) if name in at]
    rows = []
    for first in order:
        row = matrix.cells[at[first]]
        rows.append(tuple(row[at[second]] for second in order))
    return Matrix(tuple(order), tuple(rows))


def shade(value: float) -> str:
    """Return the style of a correlation in the heat map."""
    tenths = 0 if isnan(value) else round(value * SHADES)
    return f"below{-tenths}" if tenths < 0 else f"above{tenths}"

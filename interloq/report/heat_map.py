# SPDX-License-Identifier: Apache-2.0
"""The heat map: how similarly metrics and people order the samples."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan

from interloq.errors import count
from interloq.meta.matrix import Matrix
from interloq.meta.table import Estimate
from interloq.report import text
from interloq.report.elements import Name
from interloq.report.page import HeatCell, HeatMap, HeatRow

PEOPLE = ""  # people's column in the matrix: no metric has an empty name
SHADES = 10


def heat_map(matrix: Matrix, names: Mapping[str, Name]) -> HeatMap:
    """Metrics in the order of the page, people last."""
    at = {name: i for i, name in enumerate(matrix.names)}
    order = [name for name in (*names, PEOPLE) if name in at]
    rows = []
    for first in order:
        titles = [f"{_label(first, names)} and {_label(second, names)}" for second in order]
        cells = [matrix.cells[at[first]][at[second]] for second in order]
        rows.append(HeatRow(names.get(first), tuple(map(_cell, cells, titles))))
    return HeatMap(tuple(str(names[n].number) if n in names else PEOPLE for n in order), tuple(rows))


def _cell(estimate: Estimate, title: str) -> HeatCell:
    facts = [f"{title}: {text.number(estimate.value)}", count(estimate.n, "sample")]
    shade = 0 if isnan(estimate.value) else round(estimate.value * SHADES)
    return HeatCell(
        text.number(estimate.value, 2), shade, ", ".join([*facts, *([estimate.note] if estimate.note else [])])
    )


def _label(name: str, names: Mapping[str, Name]) -> str:
    return names[name].spec if name in names else "judgments"

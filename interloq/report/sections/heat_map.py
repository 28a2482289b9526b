# SPDX-License-Identifier: Apache-2.0
"""The heat map: how similarly metrics and people order the samples."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan

from interloq.agree.metric_similarity import Matrix
from interloq.errors import count
from interloq.report import text
from interloq.report.elements import Name
from interloq.report.page import HeatCell, HeatMap, HeatRow
from interloq.statistics.estimate import Estimate

PEOPLE = ""  # people's column in the matrix: no metric has an empty name
SHADES = 10


def heat_map(matrix: Matrix, names: Mapping[str, Name]) -> HeatMap:
    """Metrics in the order of the page, people last."""
    at = {name: i for i, name in enumerate(matrix.names)}
    order = [name for name in (*names, PEOPLE) if name in at]
    rows = []
    for first in order:
        cells = []
        for second in order:
            title = f"{_label(first, names)} and {_label(second, names)}"
            cells.append(_cell(matrix.cells[at[first]][at[second]], title))
        rows.append(HeatRow(names.get(first), tuple(cells)))
    return HeatMap(tuple(str(names[n].number) if n in names else PEOPLE for n in order), tuple(rows))


def _cell(estimate: Estimate, title: str) -> HeatCell:
    facts = [f"{title}: {text.number(estimate.value)}", count(estimate.n, "sample")]
    if estimate.note:
        facts.append(estimate.note)
    shade = 0
    if not isnan(estimate.value):
        shade = round(estimate.value * SHADES)
    return HeatCell(text.number(estimate.value, 2), shade, ", ".join(facts))


def _label(name: str, names: Mapping[str, Name]) -> str:
    return names[name].spec if name in names else "judgments"

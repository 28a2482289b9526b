# SPDX-License-Identifier: Apache-2.0
"""The overview: systems by metrics, mean judgments, and which metric agrees best with people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isnan

import numpy as np

from interloq.data.dialogue_names import name_dialogues
from interloq.meta.table import Estimate, MetaTable, MetricRow
from interloq.metrics import metric_names
from interloq.records import NO_SYSTEM, Key, Sample
from interloq.report import text
from interloq.report.agreement import label
from interloq.report.elements import Mark, Name
from interloq.report.notices import FEW
from interloq.report.page import Overview, OverviewCell, OverviewRow
from interloq.report.scores import ALL, SystemScore
from interloq.statistics.clustered import cluster_mean

LEVEL = 0.05
LISTED = 5  # names listed in a sentence


@dataclass(frozen=True, slots=True)
class Entry:
    """One number of the overview: a system's score or mean judgment."""

    value: float
    ci: tuple[float, float] | None
    n: int


Column = Mapping[str, Entry]  # by system


def overview(
    results: Sequence[SystemScore],
    people: Column,
    table: MetaTable | None,
    names: Mapping[str, Name],
    marks: Mapping[str, Mark],
    judges: str,
    lower_is_better: bool | None,
) -> Overview:
    """Systems by metrics and `people`, their mean judgments, by which they are sorted, then by name."""
    by_metric = {metric: _scores(results, metric) for metric in names}
    columns = list(by_metric.values())
    systems = sorted({system for column in [people, *columns] for system in column} - {""}) or [""]
    systems.sort(key=lambda system: -people[system].value if system in people else float("inf"))
    best = [winner(people)] if people else []
    best += [_winner_by(metric, column, lower_is_better) for metric, column in by_metric.items()]
    shown = [people, *columns] if people else columns
    return Overview(
        metrics=tuple(names.values()),
        has_people=bool(people),
        rows=tuple(_row(system, shown, best, marks) for system in systems),
        note=_note(len(systems), any(best)),
        findings=(
            *(_first(people, "Highest mean judgment") if people else _leads(by_metric, lower_is_better)),
            *(_agreement(table, judges) if table and people else ()),
        ),
    )


def _note(systems: int, marked: bool) -> str:
    if systems < 2:
        return "95 % intervals."
    missing = "no mark" if marked else "no mark in any column"
    return (
        "95 % intervals. ★ marks the best system of a column if its interval overlaps with no other and every system "
        f"has at least {FEW} samples and an interval of some width; {missing} means that none is clearly the best. "
        "Metrics for which neither high nor low is better are never marked."
    )


def mean_judgments(judgments: Mapping[Key, float], samples: Sequence[Sample]) -> dict[str, Entry]:
    """Each system's mean judgment with a t interval, clustered by dialogue; without systems, that of all samples."""
    dialogues = {sample.key: sample.dialogue or f"sample {sample.id}" for sample in name_dialogues(samples)}
    groups: dict[str, list[Key]] = {}
    mixed = any(system for _, system in judgments)
    for key in sorted(judgments):
        groups.setdefault(key[1] or (NO_SYSTEM if mixed else ""), []).append(key)
    found = {}
    for system, keys in groups.items():
        mean = cluster_mean(np.array([judgments[key] for key in keys]), [dialogues[key] for key in keys])
        found[system] = Entry(mean.value, mean.ci, mean.n)
    return found


def winner(column: Column, *, lower: bool = False) -> str:
    """The best system if its interval overlaps with no other's; empty if it cannot be distinguished.

    Intervals of fewer than FEW samples, or without width, do not show how much the value varies.
    """
    first, *others = _ordered(column, lower=lower) or [""]
    return first if others and all(_apart(column[first], column[other]) for other in others) else ""


def _winner_by(metric: str, column: Column, lower_is_better: bool | None) -> str:
    direction = metric_names.direction(metric, lower_is_better)
    return "" if direction == "neither" else winner(column, lower=direction == "lower")


def _ordered(column: Column, *, lower: bool = False) -> list[str]:
    known = [system for system in sorted(column) if not isnan(column[system].value)]
    return sorted(known, key=lambda system: column[system].value, reverse=not lower)


def _apart(one: Entry, other: Entry) -> bool:
    if one.ci is None or other.ci is None or min(one.n, other.n) < FEW:
        return False
    wide = one.ci[0] < one.ci[1] and other.ci[0] < other.ci[1]
    return wide and (one.ci[0] > other.ci[1] or one.ci[1] < other.ci[0])


def _scores(results: Sequence[SystemScore], metric: str) -> dict[str, Entry]:
    found = {r.system: Entry(r.value, r.ci, r.n) for r in results if r.metric == metric}
    return {system: entry for system, entry in found.items() if system or len(found) == 1}


def _row(system: str, columns: Sequence[Column], best: Sequence[str], marks: Mapping[str, Mark]) -> OverviewRow:
    cells = [_cell(column.get(system), system == top != "") for column, top in zip(columns, best, strict=True)]
    return OverviewRow(system or ALL, marks.get(system) if system else None, tuple(cells))


def _cell(entry: Entry | None, is_best: bool) -> OverviewCell:
    if entry is None:
        return OverviewCell(text.MISSING, "", "")
    digits = 3 if abs(entry.value) < 10 else 2
    interval = text.interval(entry.ci, digits)
    return OverviewCell(text.number(entry.value, digits), interval, text.sort_key(entry.value), is_best)


# ---- what led ----------------------------------------------------------------------------------------------------


def _leads(results: Mapping[str, Column], lower_is_better: bool | None) -> Iterator[str]:
    """The best system by each metric, if people judged nothing."""
    for metric, column in islice(results.items(), LISTED):
        direction = metric_names.direction(metric, lower_is_better)
        if direction != "neither":
            yield from _first(column, f"Best by {metric}", lower=direction == "lower")


def _first(column: Column, label: str, *, lower: bool = False) -> Iterator[str]:
    """The best of several systems, and those not distinguishable from it."""
    systems = _ordered(column, lower=lower)
    if len(systems) < 2:
        return
    top = column[systems[0]]
    value = f"{label}: {systems[0]}, {text.number(top.value, 2)}"
    if all(entry.ci is not None and entry.ci[0] == entry.ci[1] for entry in column.values()):
        yield f"{value}; the values of each system are all the same."
        return
    close = [system for system in systems[1:] if not _apart(top, column[system])]
    yield f"{value} {text.interval(top.ci, 2)}".rstrip() + _rest(close, "every other system")


def _agreement(table: MetaTable, judges: str) -> Iterator[str]:
    """The metric that agrees best, the metrics not distinguishable from it, and the ceiling set by the raters."""
    coefficient = "spearman" if "spearman" in table.coefficients else table.coefficients[0]
    directed = [row for row in table.rows if row.direction != "neither" or metric_names.is_known(row.metric)]
    rows = [row for row in directed if not isnan(_upwards(row, coefficient))]
    if rows:
        yield _leader(table, max(rows, key=lambda row: _upwards(row, coefficient)), coefficient, judges)
    yield _ceiling(table, coefficient)


def _upwards(row: MetricRow, coefficient: str) -> float:
    """The coefficient, with the other sign if lower scores are better: comparisons do the same."""
    value = row.with_mean[coefficient].value
    return -value if row.direction == "lower" else value


def _leader(table: MetaTable, row: MetricRow, coefficient: str, judges: str) -> str:
    estimate = row.with_mean[coefficient]
    value = (
        f"{row.metric}, {label(coefficient)} {text.number(estimate.value, 2)} {text.interval(estimate.ci, 2)}".rstrip()
    )
    if _upwards(row, coefficient) <= 0 or not _significant(estimate):
        return f"No metric agrees with {judges} distinguishably better than chance; highest: {value}."
    tests = [c for c in table.comparisons if c.coefficient == coefficient and row.metric in (c.first, c.second)]
    close = [
        c.second if c.first == row.metric else c.first
        for c in tests
        if c.permutation_p_adjusted is None or c.permutation_p_adjusted >= LEVEL
    ]
    return f"Best agreement with {judges}: {value}" + (_rest(close, "every other metric") if tests else ".")


def _significant(estimate: Estimate) -> bool:
    p = estimate.p if estimate.p_adjusted is None else estimate.p_adjusted
    return p is not None and p < LEVEL


def _ceiling(table: MetaTable, coefficient: str) -> str:
    if not table.human:
        return "Ceiling unknown: no sample was judged twice."
    found = table.human.ceiling.get(coefficient)
    if found is None or isnan(found.value):
        return f"Ceiling unknown: {found.note if found else 'it is defined for Pearson and Spearman only'}."
    return (
        f"Ceiling set by the raters’ reliability: {text.number(found.value, 2)}, "
        "the correlation expected of a metric without errors."
    )


def _rest(close: Sequence[str], everything: str) -> str:
    if not close:
        return f"; distinguishable from {everything}."
    more = f" and {len(close) - LISTED} more" if len(close) > LISTED else ""
    return f"; not distinguishable from {', '.join(close[:LISTED])}{more}."

# SPDX-License-Identifier: Apache-2.0
"""The overview: systems by metrics, mean judgments, and which metric agrees best with people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isnan

import numpy as np

from interloq.agree.table import MetaTable, MetricRow
from interloq.data.records.dialogue_names import name_dialogues
from interloq.metrics import metric_names
from interloq.records import NO_SYSTEM, Key, Sample
from interloq.report import text
from interloq.report.sections.agreement import label
from interloq.report.sections.notices import FEW
from interloq.report.sections.scores import SystemScore
from interloq.statistics.clustered import cluster_mean
from interloq.statistics.estimate import Estimate

LEVEL = 0.05
LISTED = 5  # names listed in a sentence


Column = Mapping[str, Estimate]  # score or mean judgment by system


@dataclass(frozen=True, slots=True)
class Overview:
    """Systems by metrics, and which of them leads."""

    systems: tuple[str, ...]  # "" for all samples, if there are no systems
    columns: tuple[
        tuple[Column, str], ...
    ]  # values and best system, empty if none can be distinguished from all others
    has_people: bool  # if so, the first column has the mean judgments
    note: str  # below the table
    findings: tuple[str, ...]


def overview(
    results: Sequence[SystemScore],
    people: Column,
    table: MetaTable | None,
    metrics: Iterable[str],
    judges: str,
    lower_is_better: bool | None,
) -> Overview:
    """Return systems by metrics and by `people`, their mean judgments; systems are sorted by judgment, then by name."""
    by_metric = {metric: _scores(results, metric) for metric in metrics}
    columns: list[tuple[Column, str]] = []
    findings: list[str] = []
    if people:
        columns.append((people, winner(people)))
        findings += _describe_first(people, "Highest mean rating")
        if table:
            findings += _describe_agreement(table, judges)
    else:
        for metric, column in islice(by_metric.items(), LISTED):
            direction = metric_names.direction(metric, lower_is_better)
            if direction != "neither":
                findings += _describe_first(column, f"Best by {metric}", lower=direction == "lower")
    for metric, column in by_metric.items():
        direction = metric_names.direction(metric, lower_is_better)
        columns.append((column, "" if direction == "neither" else winner(column, lower=direction == "lower")))
    systems = sorted(set().union(*(column for column, _ in columns)) - {""}) or [""]
    systems.sort(key=lambda system: -people[system].value if system in people else math.inf)
    return Overview(
        systems=tuple(systems),
        columns=tuple(columns),
        has_people=bool(people),
        note=_note(len(systems), any(best for _, best in columns)),
        findings=tuple(findings),
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


def mean_judgments(judgments: Mapping[Key, float], samples: Sequence[Sample]) -> dict[str, Estimate]:
    """Return each system's mean judgment with a t interval, clustered by dialogue; without systems, the mean of all."""
    dialogues = {sample.key: sample.dialogue or f"sample {sample.id}" for sample in name_dialogues(samples)}
    groups: dict[str, list[Key]] = {}
    nameless = ""
    if any(system for _, system in judgments):
        nameless = NO_SYSTEM
    for key in sorted(judgments):
        groups.setdefault(key[1] or nameless, []).append(key)
    means = {}
    for system, keys in groups.items():
        values = np.array([judgments[key] for key in keys])
        mean = cluster_mean(values, [dialogues[key] for key in keys])
        means[system] = Estimate(mean.value, mean.n, mean.ci)
    return means


def winner(column: Column, *, lower: bool = False) -> str:
    """Return the best system if its interval overlaps with no other's; empty if it cannot be distinguished.

    Intervals of fewer than FEW samples, or without width, do not show how much the value varies.
    """
    first, *others = _order_systems(column, lower=lower) or [""]
    if others and all(_are_apart(column[first], column[other]) for other in others):
        return first
    return ""


def _order_systems(column: Column, *, lower: bool = False) -> list[str]:
    known = [system for system in sorted(column) if not isnan(column[system].value)]
    return sorted(known, key=lambda system: column[system].value, reverse=not lower)


def _are_apart(one: Estimate, other: Estimate) -> bool:
    if one.ci is None or other.ci is None or min(one.n, other.n) < FEW:
        return False
    wide = one.ci[0] < one.ci[1] and other.ci[0] < other.ci[1]
    return wide and (one.ci[0] > other.ci[1] or one.ci[1] < other.ci[0])


def _scores(results: Sequence[SystemScore], metric: str) -> dict[str, Estimate]:
    scores = {r.system: Estimate(r.value, r.n, r.ci) for r in results if r.metric == metric}
    if len(scores) > 1:
        scores.pop("", None)  # the score of all samples is only shown if there are no systems
    return scores


def _describe_first(column: Column, label: str, *, lower: bool = False) -> Iterator[str]:
    """Describe the best of several systems, and name the systems that cannot be distinguished from it."""
    systems = _order_systems(column, lower=lower)
    if len(systems) < 2:
        return
    top = column[systems[0]]
    if all(entry.ci is not None and entry.ci[0] == entry.ci[1] for entry in column.values()):
        yield f"{label}: {systems[0]}, {text.number(top.value, 2)}; the values of each system are all the same."
        return
    close = [system for system in systems[1:] if not _are_apart(top, column[system])]
    yield f"{label}: {systems[0]}, {text.estimate(top, 2)}" + _describe_close(close, "every other system")


def _describe_agreement(table: MetaTable, judges: str) -> Iterator[str]:
    """Describe the metric that agrees best, its close rivals, and the ceiling set by the raters."""
    coefficient = table.coefficients[0]
    if "spearman" in table.coefficients:
        coefficient = "spearman"
    rows = []
    for row in table.rows:
        directed = row.direction != "neither" or metric_names.is_known(row.metric)
        if directed and not isnan(_upwards(row, coefficient)):
            rows.append(row)
    if rows:
        yield _describe_best_metric(table, max(rows, key=lambda row: _upwards(row, coefficient)), coefficient, judges)
    yield _describe_ceiling(table, coefficient)


def _upwards(row: MetricRow, coefficient: str) -> float:
    """Return the coefficient, with the sign reversed if lower scores are better, as in comparisons."""
    value = row.with_mean[coefficient].value
    return -value if row.direction == "lower" else value


def _describe_best_metric(table: MetaTable, row: MetricRow, coefficient: str, judges: str) -> str:
    estimate = row.with_mean[coefficient]
    value = f"{row.metric}, {label(coefficient)} {text.estimate(estimate, 2)}"
    if not _exceeds_chance(row, coefficient):
        return f"No metric agrees with {judges} distinguishably better than chance; highest: {value}."
    tested, close = False, []
    for comparison in table.comparisons:
        pair = [comparison.first, comparison.second]
        if comparison.coefficient == coefficient and row.metric in pair:
            tested = True
            pair.remove(row.metric)
            if comparison.permutation_p_adjusted is None or comparison.permutation_p_adjusted >= LEVEL:
                close += pair
    finding = f"Best agreement with {judges}: {value}"
    if not tested:
        return f"{finding}."
    return finding + _describe_close(close, "every other metric")


def _exceeds_chance(row: MetricRow, coefficient: str) -> bool:
    """Return whether a metric agrees better than chance: by its p-value or, if it has none, by its interval."""
    estimate = row.with_mean[coefficient]
    if _upwards(row, coefficient) <= 0:
        return False
    p = estimate.p if estimate.p_adjusted is None else estimate.p_adjusted
    if p is not None:
        return p < LEVEL
    return estimate.ci is not None and (estimate.ci[0] > 0 or estimate.ci[1] < 0)


def _describe_ceiling(table: MetaTable, coefficient: str) -> str:
    if not table.human:
        return "Ceiling unknown: no sample was judged twice."
    ceiling = table.human.ceiling.get(coefficient)
    if ceiling is None:
        return "Ceiling unknown: it is defined for Pearson and Spearman only."
    if isnan(ceiling.value):
        return f"Ceiling unknown: {ceiling.note}."
    return (
        f"Ceiling set by the raters’ reliability: {text.number(ceiling.value, 2)}, "
        "the correlation expected of a metric without errors."
    )


def _describe_close(close: Sequence[str], everything: str) -> str:
    if not close:
        return f"; distinguishable from {everything}."
    names = ", ".join(close[:LISTED])
    if len(close) > LISTED:
        names += f" and {len(close) - LISTED} more"
    return f"; not distinguishable from {names}."

# SPDX-License-Identifier: Apache-2.0
"""The score table: each metric's score of each system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite, isnan
from statistics import fmean
from typing import Any

from interloq.errors import InputError
from interloq.records import NO_SYSTEM, Key, Note, Score
from interloq.report import text
from interloq.report.elements import Bar, Mark, Name
from interloq.report.plots.scale import AxisScale, estimates_scale
from interloq.signature import Signature

ALL = "all samples"


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One system's score."""

    system: str
    mark: Mark | None
    value: str
    sort: str
    interval: str
    bar: Bar | None
    n: str
    unscored: str
    is_mean: bool = False  # of sample scores, because no header has the system's own score


@dataclass(frozen=True, slots=True)
class MetricScores:
    """The scores of all systems by one metric."""

    metric: Name
    rows: tuple[ScoreRow, ...]
    low: str  # the ends of the scale that the bars share
    high: str
    signatures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SystemScore:
    """One metric's result for one system in the header of a score file; no system means all samples."""

    metric: str
    system: str
    value: float
    ci: tuple[float, float] | None
    n: int
    unscored: int
    signature: str = ""
    is_mean: bool = False  # the mean of sample scores, because the header has no value


def read_results(header: Mapping[str, Any], where: str) -> list[SystemScore]:
    """The results in the header of a score file, which may have none."""
    results = header.get("results", [])
    try:
        return list(map(_system_score, results))
    except (AttributeError, InputError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"the results in the header cannot be read ({type(error).__name__}: {error})",
            hint="score again with `interloq score`, or delete the header line",
            where=f"{where}:1",
        ) from error


def read_notes(headers: Iterable[Mapping[str, Any]]) -> list[Note] | None:
    """Read the notes on the data in headers of score files; None if no header has any, as in older files."""
    notes: list[Note] | None = None
    for header in headers:
        if not isinstance(header.get("notes"), list):
            continue
        notes = notes or []
        for note in header["notes"]:
            if isinstance(note, dict) and note.get("text"):
                notes.append(Note(str(note.get("name", "")), str(note["text"]), 0, 0))
    return notes


def _system_score(value: Mapping[str, Any]) -> SystemScore:
    ci = value["ci"]
    if ci is not None:
        ci = text.or_nan(ci[0]), text.or_nan(ci[1])
    return SystemScore(
        metric=str(value["metric"]),
        system=str(value["system"]),
        value=text.or_nan(value["value"]),
        ci=ci,
        n=int(value["n"]),
        unscored=int(value["unscored"]),
        signature=str(Signature.from_json(value["signature"])),
    )


def complete(results: Iterable[SystemScore], scores: Sequence[Score]) -> list[SystemScore]:
    """Results from headers; the mean of sample scores if these have none, or several that differ."""
    seen: dict[tuple[str, str], set[SystemScore]] = {}
    for result in results:
        seen.setdefault((result.metric, result.system), set()).add(result)
    means = {(mean.metric, mean.system): mean for mean in _means(scores)}
    completed = {}
    for key, differing in seen.items():
        if len(differing) == 1 or key not in means:
            completed[key] = differing.pop()
    for key, mean in means.items():
        completed.setdefault(key, mean)
    return list(completed.values())


def _means(scores: Sequence[Score]) -> Iterator[SystemScore]:
    groups: dict[tuple[str, str], dict[Key, float | None]] = {}
    nameless = ""
    if any(score.system for score in scores):
        nameless = NO_SYSTEM
    for score in scores:
        for system in {"", score.system or nameless}:
            groups.setdefault((score.metric, system), {})[score.key] = score.value
    for (metric, system), values in sorted(groups.items()):
        yield _mean(metric, system, list(values.values()))


def _mean(metric: str, system: str, values: Sequence[float | None]) -> SystemScore:
    scored = sorted(value for value in values if value is not None)
    mean = _mean_of(scored) if scored else float("nan")
    return SystemScore(metric, system, mean, None, len(scored), len(values) - len(scored), is_mean=True)


def _mean_of(values: Sequence[float]) -> float:
    try:
        return fmean(values)
    except OverflowError:  # the sum may overflow, the mean does not
        return fsum(value / len(values) for value in values)


def score_tables(
    results: Sequence[SystemScore], names: Mapping[str, Name], marks: Mapping[str, Mark]
) -> tuple[MetricScores, ...]:
    """One group of rows per metric, systems sorted by name; without systems, one row for all samples."""
    by_metric: dict[str, list[SystemScore]] = {}
    for result in results:
        by_metric.setdefault(result.metric, []).append(result)
    return tuple(_table(name, by_metric.get(metric, []), marks) for metric, name in names.items())


def _table(name: Name, results: Sequence[SystemScore], marks: Mapping[str, Mark]) -> MetricScores:
    first_of: dict[str, SystemScore] = {}
    for result in results:
        first_of.setdefault(result.system, result)
    systems = sorted(first_of.keys() - {""}) or [""]
    rows = [first_of[system] for system in systems]
    shared = estimates_scale((row.value, row.ci) for row in rows)
    return MetricScores(
        metric=name,
        rows=tuple(_row(row, shared, marks) for row in rows),
        low=shared.label(shared.low),
        high=shared.label(shared.high),
        signatures=tuple(sorted({row.signature for row in rows} - {""})),
    )


def _row(result: SystemScore, shared: AxisScale, marks: Mapping[str, Mark]) -> ScoreRow:
    return ScoreRow(
        system=result.system or ALL,
        mark=marks.get(result.system) if result.system else None,
        value=text.score(result.value),
        sort=text.sort_key(result.value),
        interval=text.interval(result.ci, 4 if abs(result.value) < 10 else 2),
        bar=bar(result.value, result.ci, shared),
        n=f"{result.n:,}",
        unscored=f"{result.unscored:,}",
        is_mean=result.is_mean,
    )


def bar(value: float, ci: tuple[float, float] | None, shared: AxisScale) -> Bar | None:
    """A value and its interval on the shared scale; None if there is no value."""
    if isnan(value):
        return None
    if ci is None or not all(map(isfinite, ci)):
        return Bar(shared.at(value))
    return Bar(shared.at(value), shared.at(ci[0]), shared.at(ci[1]))

# SPDX-License-Identifier: Apache-2.0
"""The score table: each metric's score of each system."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interloq.errors import InputError
from interloq.records import NO_SYSTEM, Key, Note, Score
from interloq.report import text
from interloq.signature import Signature


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


@dataclass(frozen=True, slots=True)
class MetricScores:
    """The scores of all systems by one metric."""

    metric: str
    results: tuple[SystemScore, ...]

    @property
    def signatures(self) -> list[str]:
        """Return the signatures of the results that have one."""
        return sorted({result.signature for result in self.results} - {""})


def read_results(header: Mapping[str, Any], where: str) -> list[SystemScore]:
    """Return the results in the header of a score file, which may have none."""
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


def complete_results(results: Iterable[SystemScore], scores: Sequence[Score]) -> list[SystemScore]:
    """Return results from headers; the mean of sample scores if headers have none, or differ."""
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
    mean = math.nan
    if scored:
        try:
            mean = math.fsum(scored) / len(scored)
        except OverflowError:  # the sum may overflow, the mean does not
            mean = math.fsum(value / len(scored) for value in scored)
    return SystemScore(metric, system, mean, None, len(scored), len(values) - len(scored), is_mean=True)


def score_tables(results: Sequence[SystemScore], metrics: Iterable[str]) -> tuple[MetricScores, ...]:
    """Return the results of each metric, systems sorted by name; without systems, the result for all samples."""
    by_metric: dict[str, dict[str, SystemScore]] = {}
    for result in results:
        by_metric.setdefault(result.metric, {}).setdefault(result.system, result)
    tables = []
    for metric in metrics:
        by_system = by_metric[metric]
        systems = sorted(by_system.keys() - {""}) or [""]
        tables.append(MetricScores(metric, tuple(by_system[system] for system in systems)))
    return tuple(tables)

# SPDX-License-Identifier: Apache-2.0
"""People's preferences between two systems: strengths with wins, ties and losses, and how often metrics agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from interloq.errors import count
from interloq.rank.human_preferences import PreferenceAgreement, PreferenceRanking, Strength
from interloq.rank.ranking import format_range
from interloq.report import text
from interloq.report.elements import Bar, Mark, Name
from interloq.report.plots.scale import AxisScale, estimates_scale
from interloq.report.sections.scores import bar


@dataclass(frozen=True, slots=True)
class StrengthRow:
    """One system in one aspect."""

    system: str
    mark: Mark | None
    value: str
    sort: str
    interval: str
    bar: Bar | None
    counts: tuple[str, ...]  # wins, ties, losses
    rank_range: str


@dataclass(frozen=True, slots=True)
class PreferredRow:
    """One metric's agreement with the preferences."""

    metric: Name
    share: str
    sort: str
    interval: str
    counts: tuple[str, ...]  # preferences used, ties, unscored


@dataclass(frozen=True, slots=True)
class PreferenceTable:
    """Systems by people's preferences in one aspect, the strongest first."""

    aspect: str
    summary: str
    rows: tuple[StrengthRow, ...]
    low: str
    high: str
    metrics: tuple[PreferredRow, ...]
    notes: tuple[str, ...]


def preference_table(
    ranking: PreferenceRanking,
    agreement: Iterable[PreferenceAgreement],
    names: Mapping[str, Name],
    marks: Mapping[str, Mark],
) -> PreferenceTable:
    """The table of one aspect; `agreement` may contain other aspects."""
    shared = estimates_scale((system.strength, system.ci) for system in ranking.systems)
    people = f"{count(ranking.preferences, 'preference')} of {count(ranking.raters, 'rater')}"
    return PreferenceTable(
        aspect=ranking.aspect,
        summary=f"{people} on {count(ranking.items, 'item')}",
        rows=tuple(_strength(one, shared, marks) for one in ranking.systems),
        low=shared.label(shared.low),
        high=shared.label(shared.high),
        metrics=tuple(_preferred(one, names) for one in agreement if one.aspect == ranking.aspect),
        notes=ranking.notes,
    )


def _strength(one: Strength, shared: AxisScale, marks: Mapping[str, Mark]) -> StrengthRow:
    return StrengthRow(
        system=one.system,
        mark=marks.get(one.system),
        value=text.number(one.strength, 2),
        sort=text.sort_key(one.strength),
        interval=text.interval(one.ci, 2),
        bar=bar(one.strength, one.ci, shared),
        counts=(f"{one.wins:,}", f"{one.ties:,}", f"{one.losses:,}"),
        rank_range=format_range(one.rank_range),
    )


def _preferred(one: PreferenceAgreement, names: Mapping[str, Name]) -> PreferredRow:
    return PreferredRow(
        metric=names[one.metric],
        share=text.number(one.share, 2),
        sort=text.sort_key(one.share),
        interval=text.interval(one.ci, 2),
        counts=(f"{one.n:,}", f"{one.ties:,}", f"{one.unscored:,}"),
    )

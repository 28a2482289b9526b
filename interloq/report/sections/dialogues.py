# SPDX-License-Identifier: Apache-2.0
"""The ranking of systems, and each system's best and worst dialogues with the scores of each turn."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from interloq.agree.dialogue_scores import DialogueScore, Extremes, dialogue_of
from interloq.errors import count
from interloq.play.talk import failures
from interloq.rank.ranking import Difference, Ranking, Standing, format_range
from interloq.records import Dialogue, Key, Score
from interloq.report import text
from interloq.report.elements import Bar, Folded, Mark, Name
from interloq.report.plots.line_plot import LinePlot
from interloq.report.plots.scale import AxisScale, estimates_scale
from interloq.report.sections.scores import bar
from interloq.report.sections.survival import survival_plot

_AT_TURN = re.compile(r"(.*) at turn ([0-9]{1,9})", re.DOTALL)


# ---- the ranking -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RankRow:
    """Rank of one system."""

    system: str
    mark: Mark | None
    rank: str
    rank_sort: str
    rank_range: str
    value: str
    sort: str
    interval: str
    bar: Bar | None
    best: str  # the probability of being best
    dialogues: str
    unscored: str
    failures: str


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """Two systems compared."""

    better: str
    worse: str
    difference: str
    sort: str
    interval: str
    p: str
    adjusted: str
    units: str
    shared: str  # units with dialogues of both


@dataclass(frozen=True, slots=True)
class RankTable:
    """Systems ranked by one metric, best first."""

    metric: Name
    caption: str
    rows: tuple[RankRow, ...]
    low: str
    high: str
    differences: tuple[DifferenceRow, ...]
    notes: tuple[str, ...]
    signature: str
    survival: LinePlot | None = None
    units: str = "Units"  # what counts as independent


@dataclass(frozen=True, slots=True)
class ShownTurnScore:
    """One metric's score of a turn."""

    metric: str
    value: str
    reason: str  # why there is no value
    chosen: bool  # the metric that this dialogue was chosen by


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """One turn of a dialogue with its scores."""

    speaker: str
    side: Literal["left", "right"]
    text: Folded
    given: bool  # part of the given opening
    scores: tuple[ShownTurnScore, ...]
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DialogueCard:
    """One dialogue to read; the judged system is on the right."""

    id: str
    partner: str
    score: str
    turns: tuple[SpokenTurn, ...]
    ended: tuple[str, ...]  # failures after the last turn
    failed: bool


@dataclass(frozen=True, slots=True)
class DialogueReading:
    """One system's best and worst dialogues by one metric."""

    metric: Name
    mark: Mark
    best: tuple[DialogueCard, ...]
    worst: tuple[DialogueCard, ...]
    n: str


def rank_table(ranking: Ranking, name: Name, marks: Mapping[str, Mark]) -> RankTable:
    """The table of one ranking."""
    shared = estimates_scale((standing.score, standing.ci) for standing in ranking.standings)
    better = "lower is better" if ranking.lower_is_better else "higher is better"
    how = "mean over dialogues of the mean over replies" if ranking.method == "mean" else "strength (Bradley–Terry)"
    return RankTable(
        metric=name,
        caption=f"{how}; {better}",
        rows=tuple(_rank_row(standing, shared, marks) for standing in ranking.standings),
        low=shared.label(shared.low),
        high=shared.label(shared.high),
        differences=tuple(map(_difference, ranking.differences)),
        notes=(*_reasons(ranking.standings), *ranking.notes),
        signature=str(ranking.signature),
        survival=survival_plot(ranking.survival, marks),
        units=f"{ranking.unit.capitalize()}s",
    )


def _rank_row(standing: Standing, shared: AxisScale, marks: Mapping[str, Mark]) -> RankRow:
    return RankRow(
        system=standing.system,
        mark=marks.get(standing.system),
        rank="–" if standing.rank is None else str(standing.rank),
        rank_sort=text.sort_key(standing.rank),
        rank_range=format_range(standing.rank_range),
        value=text.score(standing.score),
        sort=text.sort_key(standing.score),
        interval=text.interval(standing.ci, 4 if abs(standing.score) < 10 else 2),
        bar=bar(standing.score, standing.ci, shared),
        best=text.number(standing.best, 2),
        dialogues=f"{standing.dialogues:,}",
        unscored=f"{standing.unscored:,}",
        failures=f"{sum(standing.failures.values()):,}",
    )


def _difference(difference: Difference) -> DifferenceRow:
    return DifferenceRow(
        better=difference.first,
        worse=difference.second,
        difference=text.score(difference.difference),
        sort=text.sort_key(difference.difference),
        interval=text.interval(difference.ci, 4),
        p=text.p_value(difference.p),
        adjusted=text.p_value(difference.p_adjusted),
        units=f"{difference.units:,}",
        shared=f"{difference.shared:,}",
    )


def _reasons(standings: Iterable[Standing]) -> list[str]:
    """Reasons why dialogues have no score."""
    return [
        f"{s.system}: {count(n, 'dialogue')} without a score, {reason}"
        for s in standings
        for reason, n in s.reasons.items()
    ]


# ---- dialogues to read -----------------------------------------------------------------------------------------------


def dialogue_readings(
    extremes_of: Mapping[str, Mapping[str, Extremes]],
    dialogues: Mapping[str, Dialogue],
    scores: Iterable[Score],
    names: Mapping[str, Name],
    marks: Mapping[str, Mark],
) -> tuple[DialogueReading, ...]:
    """Return the best and worst dialogues for each metric and system (metric → system → extremes)."""
    chosen: set[str] = set()
    for by_system in extremes_of.values():
        for extremes in by_system.values():
            chosen.update(row.dialogue for row in (*extremes.best, *extremes.worst))
    by_turn = scores_by_turn(scores, names, chosen)
    readings = []
    for metric, name in names.items():
        for system, extremes in sorted(extremes_of.get(metric, {}).items()):
            best = [dialogue_card(row, dialogues[row.dialogue], by_turn, metric) for row in extremes.best]
            worst = [dialogue_card(row, dialogues[row.dialogue], by_turn, metric) for row in extremes.worst]
            readings.append(DialogueReading(name, marks[system], tuple(best), tuple(worst), f"{extremes.n:,}"))
    return tuple(readings)


def scores_by_turn(
    scores: Iterable[Score], names: Mapping[str, Name], chosen: Collection[str]
) -> dict[Key, dict[str, tuple[str, str]]]:
    """Sample of a chosen dialogue → metric → score, or the reason why there is none."""
    table: dict[Key, dict[str, tuple[str, str]]] = {}
    for score in scores:
        if score.metric in names and dialogue_of(score, chosen) in chosen:
            table.setdefault(score.key, {})[score.metric] = text.score(score.value), score.reason
    order = list(names)
    for key, row in table.items():
        table[key] = dict(sorted(row.items(), key=lambda item: order.index(item[0])))
    return table


def dialogue_card(
    row: DialogueScore, dialogue: Dialogue, by_turn: Mapping[Key, Mapping[str, tuple[str, str]]], metric: str
) -> DialogueCard:
    """One dialogue with the scores of its turns; `metric` is the one it was chosen by."""
    failures_at = _failures_by_turn(dialogue)
    turns = []
    for i, turn in enumerate(dialogue.turns):
        speaker = dialogue.systems.get(turn.speaker, turn.speaker)
        scored = by_turn.get((f"{dialogue.id}#{i}", speaker), {})
        side: Literal["left", "right"] = "left"
        if speaker == row.system and (row.partner != row.system or turn.speaker == next(iter(dialogue.systems))):
            side = "right"
        turns.append(
            SpokenTurn(
                speaker=turn.speaker,
                side=side,
                text=text.folded(turn.text),
                given=i < dialogue.given,
                scores=tuple(ShownTurnScore(_head(m), v, why, m == metric) for m, (v, why) in scored.items()),
                failures=tuple(failures_at.pop(i, ())),
            )
        )
    ended: list[str] = []
    for _, texts in sorted(failures_at.items()):  # of no turn
        ended += texts
    failed = bool(dialogue.failure)
    return DialogueCard(dialogue.id, row.partner, text.score(row.value), tuple(turns), tuple(ended), failed)


def _head(metric: str) -> str:
    return text.name(metric, 0).head


def _failures_by_turn(dialogue: Dialogue) -> dict[int, list[str]]:
    """Return failures by turn, counted from 0; -1 if a failure names no turn."""
    by_turn: dict[int, list[str]] = {}
    for system, failure in failures(dialogue):
        at, what = -1, failure
        if placed := _AT_TURN.fullmatch(failure):
            at, what = int(placed[2]) - 1, placed[1]
        by_turn.setdefault(at, []).append(f"{system}: {what}")
    return by_turn

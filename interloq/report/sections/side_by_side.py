# SPDX-License-Identifier: Apache-2.0
"""Side by side: replies to the same context, and dialogues on the same occasion, on which systems differ most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan

from interloq.agree.dialogue_scores import DialogueScore
from interloq.compare.version_units import sample_unit
from interloq.metrics import metric_names
from interloq.records import Dialogue, Key, Sample, Score, Turn
from interloq.report import text
from interloq.report.bubbles import Bubbles, bubbles
from interloq.report.elements import Folded, Mark, Name
from interloq.report.sections.dialogues import DialogueCard, dialogue_card, scores_by_turn

MOST = 5  # contexts shown
REPEATS = 3  # replies of one system to one context


@dataclass(frozen=True, slots=True)
class SystemReply:
    """What one system replied, with its mean judgment, if people judged any, and its scores."""

    id: str
    mark: Mark
    text: Folded
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contrast:
    """One context with the replies of several systems."""

    context: Bubbles
    replies: tuple[SystemReply, ...]
    omitted: int  # further replies to it


@dataclass(frozen=True, slots=True)
class DialogueContrast:
    """Dialogues of several systems on the same occasion."""

    metric: Name
    dialogues: tuple[tuple[Mark, DialogueCard], ...]


def contexts(samples: Iterable[Sample]) -> dict[Key, str]:
    """Name the context of each sample: samples with the same one answer the same turns, or have the same id."""
    names = {}
    for sample in samples:
        unit = sample_unit(sample.id, sample)
        names[sample.key] = unit.keys.get("context") or f"id {unit.id}"
    return names


def contrasts(
    samples: Sequence[Sample],
    context_of: Mapping[Key, str],
    judgments: Mapping[Key, float],
    columns: Mapping[str, Mapping[Key, float]],
    marks: Mapping[str, Mark],
) -> tuple[Contrast, ...]:
    """The contexts whose replies differ most by their mean judgments, or else by the first metric with a direction."""
    shown = list(columns.values())
    value_of: Mapping[Key, float] = {}
    if judgments:
        shown.insert(0, judgments)
        value_of = judgments
    elif columns:
        directed = [metric for metric in columns if metric_names.direction(metric) != "neither"]
        value_of = columns[next(iter([*directed, *columns]))]
    groups: dict[str, list[Sample]] = {}
    values: dict[str, list[tuple[str, float]]] = {}
    for sample in samples:
        name = context_of[sample.key]
        groups.setdefault(name, []).append(sample)
        values.setdefault(name, []).append((sample.system, value_of.get(sample.key, nan)))
    return tuple(_contrast(groups[name], shown, marks) for name in widest(values, MOST))


def _contrast(group: Sequence[Sample], columns: Sequence[Mapping[Key, float]], marks: Mapping[str, Mark]) -> Contrast:
    seen: Counter[str] = Counter()
    replies = []
    for sample in sorted(group, key=lambda s: (s.system, s.id)):
        seen[sample.system] += 1
        if seen[sample.system] <= REPEATS:
            replies.append(_reply(sample, columns, marks))
    return Contrast(bubbles(_shared(group[0])), tuple(replies), len(group) - len(replies))


def _shared(sample: Sample) -> list[Turn]:
    """The context without the name of the system, as other systems share it."""
    return [replace(turn, speaker="") if turn.speaker == sample.system else turn for turn in sample.context]


def widest(groups: Mapping[str, Sequence[tuple[str, float]]], most: int) -> list[str]:
    """Names of the groups of systems and values in which the values of systems differ most, the widest first."""
    spread = {}
    for name, values in groups.items():
        known = [value for _, value in values if not isnan(value)]
        if len({system for system, _ in values}) > 1 and known and max(known) > min(known):
            spread[name] = max(known) - min(known)
    return sorted(spread, key=lambda name: (-spread[name], name))[:most]


def differing(rows: Iterable[DialogueScore], most: int) -> list[tuple[DialogueScore, ...]]:
    """The dialogues on the same occasions, for the occasions on which systems differ most."""
    groups: dict[str, list[DialogueScore]] = {}
    values: dict[str, list[tuple[str, float]]] = {}
    for row in rows:
        if row.pairing != "none":
            groups.setdefault(row.occasion, []).append(row)
            values.setdefault(row.occasion, []).append((row.system, row.value))
    return [tuple(groups[occasion]) for occasion in widest(values, most)]


def dialogue_contrasts(
    occasions_of: Mapping[str, Sequence[Sequence[DialogueScore]]],
    dialogues: Mapping[str, Dialogue],
    scores: Iterable[Score],
    names: Mapping[str, Name],
    marks: Mapping[str, Mark],
) -> tuple[DialogueContrast, ...]:
    """Return dialogues side by side for each metric (metric → occasions → rows)."""
    chosen: set[str] = set()
    for occasions in occasions_of.values():
        for rows in occasions:
            chosen.update(row.dialogue for row in rows)
    by_turn = scores_by_turn(scores, names, chosen)
    contrasts = []
    for metric, name in names.items():
        for rows in occasions_of.get(metric, ()):
            cards = [(marks[row.system], dialogue_card(row, dialogues[row.dialogue], by_turn, metric)) for row in rows]
            contrasts.append(DialogueContrast(name, tuple(cards)))
    return tuple(contrasts)


def _reply(sample: Sample, columns: Sequence[Mapping[Key, float]], marks: Mapping[str, Mark]) -> SystemReply:
    cells = tuple(text.number(column.get(sample.key), 2) for column in columns)
    return SystemReply(sample.id, marks[sample.system], text.folded(sample.response), cells)

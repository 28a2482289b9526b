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
from interloq.records import Key, Sample, Turn

MOST = 5  # contexts shown
REPEATS = 3  # replies of one system to one context


@dataclass(frozen=True, slots=True)
class Contrast:
    """One context with the replies of several systems."""

    context: tuple[Turn, ...]  # without the names of systems, as these share it
    samples: tuple[Sample, ...]
    omitted: int  # further replies to it


def name_contexts(samples: Iterable[Sample]) -> dict[Key, str]:
    """Name the context of each sample: samples with the same context answer the same turns or have the same id."""
    names = {}
    for sample in samples:
        unit = sample_unit(sample.id, sample)
        names[sample.key] = unit.keys.get("context") or f"id {unit.id}"
    return names


def find_contrasts(
    samples: Sequence[Sample],
    context_of: Mapping[Key, str],
    judgments: Mapping[Key, float],
    columns: Mapping[str, Mapping[Key, float]],
) -> tuple[Contrast, ...]:
    """Return contexts whose replies differ most by mean judgments, or else by the first metric with a direction."""
    value_of = judgments
    if columns and not judgments:
        directed = [metric for metric in columns if metric_names.direction(metric) != "neither"]
        value_of = columns[next(iter([*directed, *columns]))]
    groups: dict[str, list[Sample]] = {}
    values: dict[str, list[tuple[str, float]]] = {}
    for sample in samples:
        name = context_of[sample.key]
        groups.setdefault(name, []).append(sample)
        values.setdefault(name, []).append((sample.system, value_of.get(sample.key, nan)))
    return tuple(_contrast(groups[name]) for name in widest(values, MOST))


def _contrast(group: Sequence[Sample]) -> Contrast:
    seen: Counter[str] = Counter()
    replies = []
    for sample in sorted(group, key=lambda s: (s.system, s.id)):
        seen[sample.system] += 1
        if seen[sample.system] <= REPEATS:
            replies.append(sample)
    context = []
    for turn in group[0].context:
        if turn.speaker == group[0].system:
            turn = replace(turn, speaker="")
        context.append(turn)
    return Contrast(tuple(context), tuple(replies), len(group) - len(replies))


def widest(groups: Mapping[str, Sequence[tuple[str, float]]], most: int) -> list[str]:
    """Return the names of the groups of systems and values in which systems differ most, the widest first."""
    spread = {}
    for name, values in groups.items():
        known = [value for _, value in values if not isnan(value)]
        if len({system for system, _ in values}) > 1 and known and max(known) > min(known):
            spread[name] = max(known) - min(known)
    return sorted(spread, key=lambda name: (-spread[name], name))[:most]


def find_differing_dialogues(rows: Iterable[DialogueScore], most: int) -> list[tuple[DialogueScore, ...]]:
    """Return the dialogues on the same occasions, for the occasions on which systems differ most."""
    groups: dict[str, list[DialogueScore]] = {}
    values: dict[str, list[tuple[str, float]]] = {}
    for row in rows:
        if row.pairing != "none":
            groups.setdefault(row.occasion, []).append(row)
            values.setdefault(row.occasion, []).append((row.system, row.value))
    return [tuple(groups[occasion]) for occasion in widest(values, most)]

# SPDX-License-Identifier: Apache-2.0
"""Versions of a system to be compared, unit by unit, and how their units are paired.

A unit is one reply, or one dialogue with the mean score of the system's utterances in it. Two units are paired if they
have the same occasion (dialogues, see `dialogue_scores`), or else the same id and context, or else the same context.
The first of these that pairs at least half of the smaller version is used; otherwise nothing is paired.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from interloq.data.dialogue_names import natural
from interloq.meta.comparison import Pairing
from interloq.meta.table import UnitKind
from interloq.statistics.clustered import Array

PAIRINGS: tuple[Pairing, ...] = ("occasion", "id", "context")


@dataclass(frozen=True, slots=True)
class Unit:
    """One reply or one dialogue of a version."""

    id: str
    values: Mapping[str, float]  # metric → score; NaN if unscored
    keys: Mapping[Pairing, str]  # what it may be paired by
    dialogue: str = ""  # that a reply belongs to; empty if replies are independent
    rating: float = math.nan  # people's mean
    fields: Mapping[str, str] = field(default_factory=dict)  # topic, partner …
    prompt: str = ""  # context of a reply, given turns of a dialogue
    text: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)  # metric → why there is no score
    turns: tuple[str, ...] = ()  # of the context of a reply; joined in `prompt`, and not stored in baselines


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a system."""

    name: str
    unit: UnitKind
    units: tuple[Unit, ...]
    other_aspects: tuple[str, ...] = ()  # aspects with ratings that are not used
    roles: frozenset[str] = frozenset()  # of the raters

    @property
    def metrics(self) -> list[str]:
        """Metrics that have a value for some unit, in their order."""
        return list(dict.fromkeys(metric for unit in self.units for metric in unit.values))

    def scores(self, metric: str) -> Array:
        """Scores of all units; NaN if unscored."""
        return np.array([unit.values.get(metric, math.nan) for unit in self.units])

    def ratings(self) -> Array:
        """Mean ratings of all units; NaN if unrated."""
        return np.array([unit.rating for unit in self.units])


@dataclass(frozen=True, slots=True)
class Matched:
    """Units of two versions: pairs, the clusters of all units, and those without a partner."""

    pairing: Pairing
    pairs: tuple[tuple[Unit, Unit], ...]  # (old, new)
    old_clusters: tuple[str, ...]  # of all units of the old version, in its order
    new_clusters: tuple[str, ...]
    pair_clusters: tuple[str, ...]
    alone: tuple[int, int]  # units of the old and the new version without a partner


def matched(old: Version, new: Version) -> Matched:
    """Pair the units of two versions."""
    for pairing in PAIRINGS:
        first, second = _keyed(old.units, pairing), _keyed(new.units, pairing)
        shared = [key for key in first if key in second and not _contradict(first[key], second[key], pairing)]
        if shared and 2 * len(shared) >= min(len(old.units), len(new.units)):
            return _paired(pairing, first, second, shared, (old.units, new.units))
    clusters = [tuple(_own(unit, side) for unit in units) for side, units in (("old", old.units), ("new", new.units))]
    return Matched("none", (), clusters[0], clusters[1], (), (len(old.units), len(new.units)))


def _contradict(first: Unit, second: Unit, pairing: Pairing) -> bool:
    """Whether units with one id answer different contexts: then the ids are line numbers of different files.

    In a dialogue, contexts differ because the earlier replies do.
    """
    contexts = first.keys.get("context"), second.keys.get("context")
    return pairing == "id" and all(contexts) and contexts[0] != contexts[1] and not first.dialogue


def _paired(
    pairing: Pairing,
    first: Mapping[str, Unit],
    second: Mapping[str, Unit],
    shared: Sequence[str],
    units: tuple[Sequence[Unit], Sequence[Unit]],
) -> Matched:
    cluster = {key: _cluster(first[key], pairing) for key in shared}
    clusters = []
    for side, keyed, own in zip(("old", "new"), (first, second), units, strict=True):
        key_of = {id(unit): key for key, unit in keyed.items()}
        clusters.append(tuple(cluster.get(key_of.get(id(unit), ""), "") or _alone(unit, side, pairing) for unit in own))
    return Matched(
        pairing,
        tuple((first[key], second[key]) for key in shared),
        clusters[0],
        clusters[1],
        tuple(cluster[key] for key in shared),
        (len(units[0]) - len(shared), len(units[1]) - len(shared)),
    )


def _keyed(units: Sequence[Unit], pairing: Pairing) -> dict[str, Unit]:
    """Units by their key; repeats of a key are numbered in the order of the ids."""
    seen: Counter[str] = Counter()
    found = {}
    for unit in sorted(units, key=lambda unit: natural(unit.id)):
        if key := unit.keys.get(pairing):
            seen[key] += 1
            found[f"{key}|{seen[key]}"] = unit
    return found


def _cluster(unit: Unit, pairing: Pairing) -> str:
    """Replies in one dialogue, and replies to one context, are not independent."""
    if pairing != "id":
        return f"{pairing} {unit.keys[pairing]}"
    return f"dialogue {unit.dialogue}" if unit.dialogue else f"context {unit.keys.get('context', unit.id)}"


def _alone(unit: Unit, side: str, pairing: Pairing) -> str:
    return _cluster(unit, pairing) if unit.dialogue and pairing == "id" else _own(unit, side)


def _own(unit: Unit, side: str) -> str:
    return f"{side} {unit.dialogue or unit.keys.get('context', unit.id)}"


def unscored(version: Version, metric: str) -> Iterator[Unit]:
    """Units without a score by this metric."""
    return (unit for unit in version.units if math.isnan(unit.values.get(metric, math.nan)))

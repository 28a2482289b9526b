# SPDX-License-Identifier: Apache-2.0
"""Versions of a system to be compared, unit by unit, and how their units are paired.

A unit is one reply, or one dialogue with the mean score of the system's utterances in it. Two units are paired if they
have the same occasion (dialogues, see `dialogue_scores`), or else the same id and contexts that fit, or else the same
context. The first of these that pairs at least half of the smaller version is used; otherwise nothing is paired.

Contexts fit if they are equal, or if they start and end with the same turns and differ in the replies between. Two
dialogues of the same name fit if one of their contexts does, or starts with the same turn: what follows may differ.

Replies of one dialogue are a cluster. If nothing tells which replies belong together, neighbours with similar scores
are a cluster too: exports list the replies of a dialogue one after the other. If the correlation r of neighbouring
scores (differences, if units are paired) is above chance, z = r √n > LIKELY, replies are also put into runs of 2, 5, 10
and 20 neighbours, in the order of the file and of the ids, and the clusters with the widest interval are used. There
must be at least 10 runs, or 5 if z > CERTAIN. Without such a correlation, replies count as independent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress

import numpy as np

from interloq.agree.table import UnitKind
from interloq.compare.comparison import Pairing
from interloq.data.records.dialogue_names import natural
from interloq.errors import count
from interloq.statistics.clustered import Array, cluster_mean
from interloq.statistics.correlation import is_constant

LENGTHS = (2, 5, 10, 20)
LIKELY, CERTAIN = 0.84, 1.645  # one-sided p = .2 and .05 of the correlation of neighbours
LEAST = {LIKELY: 10, CERTAIN: 5}  # runs
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
    ends: tuple[str, ...] = ()  # fingerprints of the first and the last turn of the context
    sample: str = ""  # fingerprint of what was scored: reply, context and references; empty if unknown


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
        metrics: dict[str, None] = {}
        for unit in self.units:
            metrics.update(dict.fromkeys(unit.values))
        return list(metrics)

    def scores(self, metric: str) -> Array:
        """Return the scores of all units; NaN if unscored."""
        return np.array([unit.values.get(metric, math.nan) for unit in self.units])

    def ratings(self) -> Array:
        """Return the mean ratings of all units; NaN if unrated."""
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
    dialogues_known: bool = True  # whether something tells which replies belong to one dialogue
    assumed: bool = False  # whether clusters are runs of neighbours, because dialogues are unknown


def match_units(old: Version, new: Version) -> Matched:
    """Pair the units of two versions."""
    old_known, new_known = _dialogues_known(old), _dialogues_known(new)
    for pairing in PAIRINGS:
        first, second = _number_keys(old.units, pairing), _number_keys(new.units, pairing)
        shared = [key for key in first if key in second]
        if pairing == "id":
            shared = _find_fitting(first, second, shared)
        if shared and 2 * len(shared) >= min(len(old.units), len(new.units)):
            pairs = tuple((first[key], second[key]) for key in shared)
            clusters = _pair_clusters(pairing, pairs)
            cluster_of: dict[int, str] = {}
            for (old_unit, new_unit), cluster in zip(pairs, clusters, strict=True):
                cluster_of[id(old_unit)] = cluster_of[id(new_unit)] = cluster
            return Matched(
                pairing=pairing,
                pairs=pairs,
                old_clusters=_side_clusters(old, "old", cluster_of),
                new_clusters=_side_clusters(new, "new", cluster_of),
                pair_clusters=clusters,
                alone=(len(old.units) - len(pairs), len(new.units) - len(pairs)),
                dialogues_known=old_known or new_known,
            )
    return Matched(
        pairing="none",
        pairs=(),
        old_clusters=_side_clusters(old, "old", {}),
        new_clusters=_side_clusters(new, "new", {}),
        pair_clusters=(),
        alone=(len(old.units), len(new.units)),
        dialogues_known=old_known and new_known,
    )


def _dialogues_known(version: Version) -> bool:
    """Return whether units are dialogues, or at least half of the replies have a known dialogue."""
    if version.unit == "dialogue":
        return True
    named = [unit for unit in version.units if unit.dialogue]
    return 2 * len(named) >= len(version.units)


def _find_fitting(first: Mapping[str, Unit], second: Mapping[str, Unit], shared: Sequence[str]) -> list[str]:
    """Return the keys of units that answer the same prompt; otherwise ids are line numbers of different files."""
    fitting_dialogues = set()
    for key in shared:
        old, new = first[key], second[key]
        start_alike = bool(old.ends) and old.ends[:1] == new.ends[:1]
        if old.dialogue and old.dialogue == new.dialogue and (start_alike or _contexts_fit(old, new)):
            fitting_dialogues.add(old.dialogue)
    fitting_keys = []
    for key in shared:
        old, new = first[key], second[key]
        if old.dialogue in fitting_dialogues or _contexts_fit(old, new):
            fitting_keys.append(key)
    return fitting_keys


def _contexts_fit(old: Unit, new: Unit) -> bool:
    old_context, new_context = old.keys.get("context"), new.keys.get("context")
    if not old_context or not new_context or old_context == new_context:
        return True
    return bool(old.ends) and old.ends == new.ends


def _pair_clusters(pairing: Pairing, pairs: Sequence[tuple[Unit, Unit]]) -> tuple[str, ...]:
    """Return the cluster of each pair.

    Pairs in one dialogue of either version are not independent, nor are replies to one context.
    """
    joined: dict[str, str] = {}  # a dialogue → another one that shares a pair with it

    def first_of(name: str) -> str:
        while name in joined:
            name = joined[name]
        return name

    names = []
    for old, new in pairs:
        dialogues = []
        if old.dialogue:
            dialogues.append(first_of(f"old {old.dialogue}"))
        if new.dialogue:
            dialogues.append(first_of(f"new {new.dialogue}"))
        if len(set(dialogues)) > 1:
            joined[dialogues[1]] = dialogues[0]
        if dialogues:
            names.append(dialogues[0])
        elif pairing == "id":
            names.append(f"{pairing} {old.keys.get('context', old.id)}")
        else:
            names.append(f"{pairing} {old.keys[pairing]}")
    return tuple(map(first_of, names))


def _side_clusters(version: Version, side: str, cluster_of: Mapping[int, str]) -> tuple[str, ...]:
    """Return the cluster of each unit of a version: of its pair, of its dialogue, or its own."""
    of_dialogue = {unit.dialogue: cluster_of[id(unit)] for unit in version.units if id(unit) in cluster_of}
    clusters = []
    for unit in version.units:
        cluster = cluster_of.get(id(unit))
        if not cluster and unit.dialogue:
            cluster = of_dialogue.get(unit.dialogue)
        clusters.append(cluster or f"{side} {unit.dialogue or unit.keys.get('context', unit.id)}")
    return tuple(clusters)


def _number_keys(units: Sequence[Unit], pairing: Pairing) -> dict[str, Unit]:
    """Return units by their key; repeats of a key are numbered in the order of the ids."""
    seen: Counter[str] = Counter()
    units_by_key = {}
    for unit in sorted(units, key=lambda unit: natural(unit.id)):
        if key := unit.keys.get(pairing):
            seen[key] += 1
            units_by_key[f"{key}|{seen[key]}"] = unit
    return units_by_key


def explain_unpaired(old: Version, new: Version, units: Matched) -> tuple[str, str]:
    """Return why units have no partner, and what helps; empty if the test sets just differ."""
    if units.pairs:
        paired = {id(unit) for unit in chain.from_iterable(units.pairs)}
        old_ids = {unit.id for unit in old.units if id(unit) not in paired}
        new_ids = {unit.id for unit in new.units if id(unit) not in paired}
        if units.pairing != "id" or not old_ids & new_ids:
            return "", ""
        what = f"{count(len(old_ids & new_ids), 'id')} in both versions, but with different contexts"
        return what, "name the conversations of the replies with --map dialogue=FIELD"
    if new.unit == "dialogue":
        hint = 'add "occasion": "…" to dialogues that belong together (a topic, a person, a first message)'
        return "the dialogues of the two versions share too few occasions or given openings", hint
    ids = {unit.keys.get("id") for unit in old.units} & {unit.keys.get("id") for unit in new.units}
    if 2 * len(ids) >= min(len(old.units), len(new.units)):
        hint = "name the conversations of the replies with --map dialogue=FIELD, or give each prompt its own id"
        return f"{count(len(ids), 'id')} in both versions, but with different contexts", hint
    hint = "give replies to the same prompt the same id (--map id=FIELD) or the same context"
    return "the samples of the two versions share too few ids or contexts", hint


def list_unscored(version: Version, metric: str) -> list[Unit]:
    """Return the units without a score by this metric."""
    return [unit for unit in version.units if math.isnan(unit.values.get(metric, math.nan))]


# ---- clusters of neighbours ------------------------------------------------------------------------------------------


def cluster_neighbours(units: Matched, old: Version, new: Version, metric: str = "") -> Matched:
    """Return the units in the clusters that a metric's scores, or ratings, need; the same object if none changes."""
    if units.dialogues_known:
        return units
    if not units.pairs:
        old_clusters = _widest(_values(old.units, metric), old.units, old, units.old_clusters)
        new_clusters = _widest(_values(new.units, metric), new.units, new, units.new_clusters)
        if old_clusters is units.old_clusters and new_clusters is units.new_clusters:
            return units
        return replace(units, old_clusters=old_clusters, new_clusters=new_clusters, assumed=True)
    old_units, new_units = zip(*units.pairs, strict=True)
    gaps = _values(new_units, metric) - _values(old_units, metric)
    runs = _widest(gaps, old_units, old, units.pair_clusters)
    if runs is units.pair_clusters:
        return units
    run_of: dict[int, str] = {}
    for (old_unit, new_unit), run in zip(units.pairs, runs, strict=True):
        run_of[id(old_unit)] = run_of[id(new_unit)] = run
    return replace(
        units,
        pair_clusters=runs,
        old_clusters=_replace_clusters(old.units, units.old_clusters, run_of),
        new_clusters=_replace_clusters(new.units, units.new_clusters, run_of),
        assumed=True,
    )


def _replace_clusters(units: Sequence[Unit], clusters: Sequence[str], run_of: Mapping[int, str]) -> tuple[str, ...]:
    """Return the run of each unit, or its cluster if it is in none."""
    return tuple(run_of.get(id(unit), cluster) for unit, cluster in zip(units, clusters, strict=True))


def _values(units: Sequence[Unit], metric: str) -> Array:
    """Return the scores of a metric, or the ratings if no metric is named."""
    version = Version("", "sample", tuple(units))
    if metric:
        return version.scores(metric)
    return version.ratings()


def _widest(values: Array, units: Sequence[Unit], version: Version, clusters: tuple[str, ...]) -> tuple[str, ...]:
    """Return the clusters of these units, or the runs of neighbours that give the mean a wider interval."""
    place = {id(unit): i for i, unit in enumerate(version.units)}
    by_file = sorted(range(len(units)), key=lambda i: place[id(units[i])])
    by_id = sorted(range(len(units)), key=lambda i: natural(units[i].id))
    widest, width = clusters, _width(values, clusters)
    for order in {tuple(by_file), tuple(by_id)}:
        scored = [i for i in order if not math.isnan(values[i])]
        alike = _alike(values[scored])
        if not alike > LIKELY:
            continue
        least = LEAST[LIKELY]
        if alike > CERTAIN:
            least = LEAST[CERTAIN]
        for length in LENGTHS:
            runs = list(clusters)
            for k, i in enumerate(scored):
                runs[i] = f"run {k // length} of {clusters[scored[0]]}"  # not a name of the other version's
            if len(scored) // length >= least and _width(values, runs) > width:
                widest, width = tuple(runs), _width(values, runs)
    return widest


def _alike(values: Array) -> float:
    """Return the correlation of adjacent values divided by its standard error; 0 if the values do not vary."""
    if len(values) < 3 or is_constant(values):
        return 0.0
    centred = values - values.mean()
    return float((centred[1:] * centred[:-1]).sum() / (centred**2).sum()) * math.sqrt(len(values))


def _width(values: Array, clusters: Sequence[str]) -> float:
    """Return the width of the interval of the mean of all known values; 0 if it is unknown."""
    scored = ~np.isnan(values)
    mean = cluster_mean(values[scored], list(compress(clusters, scored)))
    if mean.ci is None:
        return 0.0
    return mean.ci[1] - mean.ci[0]

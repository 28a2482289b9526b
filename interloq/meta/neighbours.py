# SPDX-License-Identifier: Apache-2.0
"""Clusters of replies if nothing tells which belong to one dialogue: runs of neighbours, where neighbours score alike.

Exports list the replies of a dialogue one after the other. If the correlation r of neighbouring scores (differences, if
units are paired) is above chance, z = r √n > LIKELY, replies are also put into runs of 2, 5, 10 and 20 neighbours, in
the order of the file and of the ids, and the clusters with the widest interval are used. There must be at least 10
runs, or 5 if z > CERTAIN. Without such a correlation, replies count as independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from interloq.data.dialogue_names import natural
from interloq.meta.versions import Matched, Unit, Version
from interloq.statistics.clustered import Array, cluster_mean
from interloq.statistics.correlation import constant

LENGTHS = (2, 5, 10, 20)
LIKELY, CERTAIN = 0.84, 1.645  # one-sided p = .2 and .05 of the correlation of neighbours
LEAST = {LIKELY: 10, CERTAIN: 5}  # runs


def with_neighbours(units: Matched, old: Version, new: Version, metric: str = "") -> Matched:
    """The units in the clusters that the scores of a metric need, or ratings; the same object if nothing changes."""
    if units.dialogues_known:
        return units
    if units.pairs:
        gaps = [_value(second, metric) - _value(first, metric) for first, second in units.pairs]
        found = _widest(np.array(gaps), [first for first, _ in units.pairs], old, units.pair_clusters)
        if found is units.pair_clusters:
            return units
        cluster_of = {id(unit): run for pair, run in zip(units.pairs, found, strict=True) for unit in pair}
        sides = [
            tuple(cluster_of.get(id(unit), own) for unit, own in zip(version.units, known, strict=True))
            for version, known in ((old, units.old_clusters), (new, units.new_clusters))
        ]
        return replace(units, pair_clusters=found, old_clusters=sides[0], new_clusters=sides[1], assumed=True)
    first, second = (
        _widest(np.array([_value(unit, metric) for unit in version.units]), version.units, version, known)
        for version, known in ((old, units.old_clusters), (new, units.new_clusters))
    )
    if first is units.old_clusters and second is units.new_clusters:
        return units
    return replace(units, old_clusters=first, new_clusters=second, assumed=True)


def _value(unit: Unit, metric: str) -> float:
    return unit.values.get(metric, math.nan) if metric else unit.rating


def _widest(values: Array, units: Sequence[Unit], version: Version, clusters: tuple[str, ...]) -> tuple[str, ...]:
    """The clusters of these units of a version, or the runs of neighbours that give the mean a wider interval."""
    place = {id(unit): i for i, unit in enumerate(version.units)}
    by_file = sorted(range(len(units)), key=lambda i: place[id(units[i])])
    by_id = sorted(range(len(units)), key=lambda i: natural(units[i].id))
    widest, width = clusters, _width(values, clusters)
    for order in {tuple(by_file), tuple(by_id)}:
        scored = [i for i in order if not math.isnan(values[i])]
        alike = _alike(values[scored])
        least = LEAST[CERTAIN if alike > CERTAIN else LIKELY]
        for length in LENGTHS if alike > LIKELY else ():
            runs = list(clusters)
            for k, i in enumerate(scored):
                runs[i] = f"run {k // length} of {clusters[scored[0]]}"  # not a name of the other version's
            if len(scored) // length >= least and _width(values, runs) > width:
                widest, width = tuple(runs), _width(values, runs)
    return widest


def _alike(values: Array) -> float:
    """Correlation of neighbours in units of its standard error; 0 if the values do not vary."""
    if len(values) < 3 or constant(values):
        return 0.0
    centred = values - values.mean()
    return float((centred[1:] * centred[:-1]).sum() / (centred**2).sum()) * math.sqrt(len(values))


def _width(values: Array, clusters: Sequence[str]) -> float:
    """Width of the interval of the mean of all known values; 0 if it is unknown."""
    scored = ~np.isnan(values)
    mean = cluster_mean(values[scored], [cluster for cluster, known in zip(clusters, scored, strict=True) if known])
    return mean.ci[1] - mean.ci[0] if mean.ci else 0.0

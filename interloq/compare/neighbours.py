# SPDX-License-Identifier: Apache-2.0
"""Clusters of replies if nothing tells which belong to one dialogue: runs of neighbours, where neighbours score alike.

Exports list the replies of a dialogue one after the other. If the correlation r of neighbouring scores (differences, if
units are paired) is above chance, z = r √n > LIKELY, replies are also put into runs of 2, 5, 10 and 20 neighbours, in
the order of the file and of the ids, and the clusters with the widest interval are used. There must be at least 10
runs, or 5 if z > CERTAIN. Without such a correlation, replies count as independent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress

import numpy as np

from interloq.compare.versions import Matched, Unit, Version
from interloq.data.records.dialogue_names import natural
from interloq.statistics.clustered import Array, cluster_mean
from interloq.statistics.correlation import constant

LENGTHS = (2, 5, 10, 20)
LIKELY, CERTAIN = 0.84, 1.645  # one-sided p = .2 and .05 of the correlation of neighbours
LEAST = {LIKELY: 10, CERTAIN: 5}  # runs


def cluster_neighbours(units: Matched, old: Version, new: Version, metric: str = "") -> Matched:
    """Return the units in the clusters that the scores of a metric need, or ratings; the same object if none change."""
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
    """Return the scores of a metric, or the ratings if none is named."""
    if metric:
        return np.array([unit.values.get(metric, math.nan) for unit in units])
    return np.array([unit.rating for unit in units])


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
    """Return the correlation of neighbours in units of its standard error; 0 if the values do not vary."""
    if len(values) < 3 or constant(values):
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

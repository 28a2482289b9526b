# SPDX-License-Identifier: Apache-2.0
"""Items first on which metrics disagree most: there, a person's judgment tells most about the metrics.

Each metric's scores become percentiles among the samples it scored (the best has the highest). A sample's priority is
the difference between its highest and its lowest percentile, from 0 to 100; an item's is the largest of its samples'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from interloq.errors import InputError
from interloq.metrics.metric_names import direction
from interloq.records import Key, SampleKeys, Score
from interloq.web.items import Item


def scores_of_items(items: Iterable[Item], scores: Iterable[Score]) -> list[Score]:
    """Scores of the samples in these items, each with its system; those of other samples are omitted."""
    keys = []
    for item in items:
        if item.hidden["kind"] != "samples":
            raise InputError("scores are of samples, not of dialogues", hint="omit the scores")
        keys += _keys(item)
    known = SampleKeys(dict.fromkeys(keys))
    located = ((score, known.find(score.id, score.system)) for score in scores)
    found = [replace(score, system=key[1]) for score, key in located if key is not None]
    if all(score.value is None for score in found):
        raise InputError("no sample of the task has a score", hint="give scores of the samples in this file")
    return found


def with_priorities(items: Iterable[Item], scores: Iterable[Score]) -> list[Item]:
    """The items with priorities; those without scores come last. One metric alone gives no priorities."""
    spread = disagreement(_by_metric(scores))
    return [replace(item, priority=max((spread.get(key, 0.0) for key in _keys(item)), default=0.0)) for item in items]


def _keys(item: Item) -> list[Key]:
    return [(unit["id"], unit["system"]) for unit in item.hidden["units"]]


def disagreement(metrics: Mapping[str, Mapping[Key, float]]) -> dict[Key, float]:
    """Difference between the highest and the lowest percentile of each sample with at least two scores."""
    found: dict[Key, list[float]] = {}
    for values in metrics.values():
        for key, percentile in _percentiles(values).items():
            found.setdefault(key, []).append(percentile)
    return {key: max(some) - min(some) for key, some in found.items() if len(some) > 1}


def _percentiles(values: Mapping[Key, float]) -> dict[Key, float]:
    from scipy.stats import rankdata

    ranks = rankdata(list(values.values()))
    return {key: 100 * (float(rank) - 0.5) / len(values) for key, rank in zip(values, ranks, strict=True)}


def _by_metric(scores: Iterable[Score]) -> dict[str, dict[Key, float]]:
    """Scores by metric, larger ones better; metrics without a direction are not used."""
    found: dict[str, dict[Key, float]] = {}
    for score in scores:
        way = direction(score.metric)
        if way != "neither" and score.value is not None:
            found.setdefault(score.metric, {})[score.key] = -score.value if way == "lower" else score.value
    return found

# SPDX-License-Identifier: Apache-2.0
"""Items first on which metrics disagree most: there, a person's judgment tells most about the metrics.

Each metric's scores become percentiles among the samples it scored (the best has the highest). A sample's priority is
the difference between its highest and its lowest percentile, from 0 to 100; an item's is the largest of its samples'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from interloq.errors import InputError
from interloq.metrics.metric_names import direction
from interloq.records import Key, SampleKeys, Score
from interloq.web.items import Item


def with_priorities(items: Sequence[Item], scores: Iterable[Score]) -> list[Item]:
    """The items with priorities; those without scores come last."""
    if any(item.hidden["kind"] != "samples" for item in items):
        raise InputError("scores choose among samples, not dialogues", hint="omit the scores")
    own = [[(unit["id"], unit["system"]) for unit in item.hidden["units"]] for item in items]
    spread = disagreement(_by_metric(scores, {key for keys in own for key in keys}))
    return [
        replace(item, priority=max((spread.get(key, 0.0) for key in keys), default=0.0))
        for item, keys in zip(items, own, strict=True)
    ]


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


def _by_metric(scores: Iterable[Score], keys: Iterable[Key]) -> dict[str, dict[Key, float]]:
    """Scores of these samples by metric, larger ones better; metrics without a direction are not used."""
    known = SampleKeys(keys)
    found: dict[str, dict[Key, float]] = {}
    for score in scores:
        way, key = direction(score.metric), known.find(score.id, score.system)
        if way != "neither" and key is not None and score.value is not None:
            found.setdefault(score.metric, {})[key] = -score.value if way == "lower" else score.value
    if len(found) < 2:
        hint = "give a score file with at least two metrics for which higher or lower is better"
        raise InputError(f"{len(found)} usable metrics for these samples: nothing can disagree", hint=hint)
    return found

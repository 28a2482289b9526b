# SPDX-License-Identifier: Apache-2.0
"""Items on which metrics disagree most come first: there, a person's judgment tells most about the metrics.

Each metric's scores become percentiles among the samples it scored (the best has the highest). A sample's priority is
the difference between its highest and its lowest percentile, from 0 to 100; an item's is the largest of its samples'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from interloq.errors import InputError
from interloq.metrics.metric_names import direction
from interloq.records import Key, SampleKeys, Score
from interloq.web.studies.items import StudyItem


def with_scores(items: Sequence[StudyItem], scores: Iterable[Score]) -> list[StudyItem]:
    """The items with the scores of their samples and with priorities; those without scores come last.

    Scores of other samples are omitted. One metric alone gives no priorities.
    """
    if any(item.hidden["kind"] != "samples" for item in items):
        raise InputError("scores are of samples, not of dialogues", hint="omit the scores")
    known = SampleKeys({_key(unit) for item in items for unit in item.hidden["units"]})
    by_metric: dict[str, dict[Key, float | None]] = {}
    is_scored = False
    for score in scores:
        if (key := known.find(score.id, score.system)) is not None:
            by_metric.setdefault(score.metric, {})[key] = score.value
            is_scored = is_scored or score.value is not None
    if not is_scored:
        raise InputError("no sample of the task has a score", hint="give scores of the samples in this file")
    spread = disagreement({metric: rising(metric, values) for metric, values in by_metric.items()})
    return [_with_scores(item, by_metric, spread) for item in items]


def _with_scores(
    item: StudyItem, scores: Mapping[str, Mapping[Key, float | None]], spread: Mapping[Key, float]
) -> StudyItem:
    units = []
    priority = 0.0
    for unit in item.hidden["units"]:
        key = _key(unit)
        unit_scores = {metric: values[key] for metric, values in scores.items() if key in values}
        units.append({**unit, "scores": unit_scores})
        priority = max(priority, spread.get(key, 0.0))
    return replace(item, hidden={**item.hidden, "units": units}, priority=priority)


def _key(unit: Mapping[str, Any]) -> Key:
    return unit["id"], unit["system"]


def disagreement(metrics: Mapping[str, Mapping[Key, float]]) -> dict[Key, float]:
    """Difference between the highest and the lowest percentile of each sample with at least two scores."""
    percentiles: dict[Key, list[float]] = {}
    for values in metrics.values():
        for key, percentile in _percentiles(values).items():
            percentiles.setdefault(key, []).append(percentile)
    return {key: max(some) - min(some) for key, some in percentiles.items() if len(some) > 1}


def _percentiles(values: Mapping[Key, float]) -> dict[Key, float]:
    from scipy.stats import rankdata

    ranks = rankdata(list(values.values()))
    return {key: 100 * (float(rank) - 0.5) / len(values) for key, rank in zip(values, ranks, strict=True)}


def rising(metric: str, values: Mapping[Key, float | None]) -> dict[Key, float]:
    """Return scores for which larger is better; none of a metric without a direction, or whose direction is unknown."""
    way = direction(metric)
    if way == "neither":
        return {}
    sign = -1 if way == "lower" else 1
    return {key: sign * value for key, value in values.items() if value is not None}

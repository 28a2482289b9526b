# SPDX-License-Identifier: Apache-2.0
"""Metrics whose constants come from scores, such as RUBER: their parts are scored in shards, and then they are fitted.

So a part's network reads each sample once, and workers need no constants that take the whole set.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from interloq.metrics.combined.rated_references import RatedReferences
from interloq.metrics.combined.ruber import CombinedMetric
from interloq.metrics.metric import Array, FittedMetric
from interloq.records import Key, Sample


def is_split(metric: Any) -> bool:
    """Return whether the parts of a metric are scored alone, before the metric is fitted."""
    if not isinstance(metric, CombinedMetric):
        return False
    inner = metric.inner_metrics()
    return metric.fits_scores or any(isinstance(part, RatedReferences) or is_split(part) for part in inner)


def change_parts(metric: Any, change: Callable[[Any], Any]) -> Any:
    """Return a metric with each metric in its fields changed."""
    parts = {}
    for item in fields(metric):
        value = getattr(metric, item.name)
        if item.metadata.get("kind") == "metric":
            parts[item.name] = tuple(map(change, value)) if isinstance(value, tuple) else change(value)
    return replace(metric, **parts)


def change_scored(metric: Any, change: Callable[[Any], Any]) -> Any:
    """Return a metric with each part that is scored alone changed: the metric itself if it is not split."""
    if not is_split(metric):
        return change(metric)
    return change_parts(metric, lambda part: change_scored(part, change))


def list_scored(metric: Any) -> list[Any]:
    """Return the parts of a metric that are scored alone: the metric itself if it is not split."""
    scored: list[Any] = []

    def note(part: Any) -> Any:
        scored.append(part)
        return part

    change_scored(metric, note)
    return scored


def fit_alone(metric: Any, samples: Sequence[Sample]) -> Any:
    """Return a metric that is not split, fitted to the samples if it needs all of them."""
    if isinstance(metric, RatedReferences) and not metric.needs_all:
        return metric
    return metric.fit(samples) if isinstance(metric, FittedMetric) else metric


def with_rows(metric: Any, rows: Array, reasons: dict[int, str], places: dict[Key, int]) -> Any:
    """Return a copy of a metric that knows the rows and reasons of these samples, and scores no others."""
    known = copy.copy(metric)

    def find_rows(samples: Sequence[Sample]) -> Array:
        found: Array = rows[np.array([places[sample.key] for sample in samples], dtype=np.int64)]
        return found

    methods: dict[str, Callable[..., Any]] = {
        "unscorable": lambda sample: reasons.get(places[sample.key]),
        "stats": find_rows,
        "fit": lambda _: known,
    }
    for name, method in methods.items():
        object.__setattr__(known, name, method)
    return known

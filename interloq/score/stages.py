# SPDX-License-Identifier: Apache-2.0
"""The stages of a run before its samples are scored: extend their references, then rate them.

Only pipelines such as vbleu have these stages, alone or inside another metric (`ruber(referenced=vbleu(…))`). Each
pipeline has its own index and rater, so the samples after a stage are kept by pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from interloq.metrics.combined.rated_references import RatedReferences, StagedSamples
from interloq.records import Sample
from interloq.registry import parts_of

Staged = Mapping[RatedReferences, StagedSamples]


def find_pipelines(metrics: Sequence[Any]) -> list[RatedReferences]:
    """Return the pipelines among metrics and inside them."""
    pipelines = []
    for metric in metrics:
        if isinstance(metric, RatedReferences):
            pipelines.append(metric)
        else:
            pipelines += find_pipelines(parts_of(metric))
    return pipelines


def extend_samples(metrics: Sequence[Any], samples: Iterable[Sample]) -> Staged:
    """Return the samples with references from the index of each pipeline; without a pipeline, they are not read."""
    pipelines = find_pipelines(metrics)
    listed = list(samples) if pipelines else []
    return {pipeline: pipeline.extend(listed) for pipeline in pipelines}


def rate_samples(extended: Staged) -> Staged:
    """Return extended samples with the weights of each pipeline's rater."""
    return {pipeline: pipeline.rate(samples) for pipeline, samples in extended.items()}


def with_rated(metrics: Sequence[Any], rated: Staged) -> list[Any]:
    """Return metrics whose pipelines score these rated samples; other metrics are unchanged."""
    return [_with_rated(metric, rated) for metric in metrics]


def _with_rated(metric: Any, rated: Staged) -> Any:
    if isinstance(metric, RatedReferences):
        return metric.with_rated(rated[metric])
    if not find_pipelines([metric]):
        return metric
    parts = {}
    for item in fields(metric):
        value = getattr(metric, item.name)
        if item.metadata.get("kind") != "metric":
            continue
        if isinstance(value, tuple):
            parts[item.name] = tuple(_with_rated(part, rated) for part in value)
        else:
            parts[item.name] = _with_rated(value, rated)
    return replace(metric, **parts)

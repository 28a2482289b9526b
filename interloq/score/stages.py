# SPDX-License-Identifier: Apache-2.0
"""The stages of a run before its samples are scored: extend their references, then rate them.

Only pipelines such as vbleu have these stages, alone or inside another metric (`ruber(referenced=vbleu(…))`). Each
pipeline has its own index and rater, so the samples after a stage are kept by pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from interloq.metrics.combined.rated_references import RatedReferences, StagedSamples
from interloq.records import Sample
from interloq.registry import parts_of
from interloq.score.split_metrics import change_parts

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
    """Return the samples with references from the index of each pipeline that has none yet.

    Without such a pipeline, the samples are not read.
    """
    pipelines = [pipeline for pipeline in find_pipelines(metrics) if not pipeline.is_staged]
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
        return metric if metric.is_staged else metric.with_rated(rated[metric])
    if not find_pipelines([metric]):
        return metric
    return change_parts(metric, lambda part: _with_rated(part, rated))

"""Slopes that convert a margin from human ratings to units of metrics, from rated samples scored by the same judge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from interloq.errors import InputError
from interloq.meta.compare_options import GateOptions
from interloq.meta.origin import common_origin
from interloq.meta.score_slope import score_slope
from interloq.meta.signatures import read_signatures
from interloq.meta.version_files import Reading
from interloq.meta.version_units import mean_ratings
from interloq.metrics.chosen import choose
from interloq.metrics.evaluate import evaluate_all
from interloq.records import Key, Sample, SampleKeys
from interloq.signature import Signature, fingerprint
from interloq.statistics.clustered import Clustered


def margin_slopes(
    metrics: Sequence[str], options: GateOptions, judges: Mapping[str, Signature], reading: Reading
) -> dict[str, Clustered]:
    """Score per unit of rating of each metric; empty if the margin is in units of the metrics."""
    if options.rated is None:
        return {}
    return {metric: _slope(metric, options.rated, options.rated_scores, judges, reading) for metric in metrics}


def _slope(
    metric: str,
    rated: str | Path,
    rated_scores: str | Path | None,
    judges: Mapping[str, Signature],
    reading: Reading,
) -> Clustered:
    """Score per unit of rating, from rated samples scored by the same judge."""
    samples: list[Sample] = reading.read(rated, "samples")
    ratings = mean_ratings(samples, reading.options.ratings)
    if not ratings:
        raise InputError(
            "no ratings to convert the margin with", hint="add ratings, or name --aspect", where=str(rated)
        )
    values, judge = _scored(metric, samples, rated_scores, reading)
    headers = {"the compared files": judges[metric], str(rated_scores or rated): judge}
    common_origin({n: {"results": [{"metric": metric, "signature": asdict(j)}]} for n, j in headers.items()})
    rows = [
        (values[s.key], ratings[s.key], fingerprint(*(t.text for t in s.context)) if s.context else s.id)
        for s in samples
        if s.key in ratings and not math.isnan(values.get(s.key, math.nan))
    ]
    scores, people = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    return score_slope(scores, people, [row[2] for row in rows])


def _scored(
    metric: str, samples: Sequence[Sample], path: str | Path | None, reading: Reading
) -> tuple[Mapping[Key, float], Signature]:
    """Scores of samples from a file, or made here; and the signature of the metric."""
    if path is None:
        (one,), _ = choose([metric])
        result = evaluate_all([one.metric], samples, n_bootstrap=0)[0][""]
        return result.by_sample, result.signature
    known, judge = SampleKeys(sample.key for sample in samples), read_signatures(str(path)).get(metric)
    if judge is None:
        raise InputError(f"no scores of {metric}", hint="score the rated samples with it", where=str(path))
    own = [score for score in reading.read(path, "scores") if score.metric == metric and score.value is not None]
    return {key: score.value for score in own if (key := known.find(score.id, score.system))}, judge

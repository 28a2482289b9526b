# SPDX-License-Identifier: Apache-2.0
"""Margins of a gate: one number for all metrics, or one per metric, since metrics have different scales.

Slopes convert a margin from human ratings to units of metrics. They are computed from rated samples, or read from the
stored JSON of `interloq meta`. The judge must be the same as for the compared versions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from interloq.agree.judgments import MOST_UNSCORED
from interloq.agree.score_slope import score_slope
from interloq.agree.table import UnitKind
from interloq.compare.compare_options import CompareOptions, GateOptions
from interloq.compare.version_files import VersionReading
from interloq.compare.version_units import mean_ratings
from interloq.data.files.opening import read_json, reading_saved
from interloq.data.records.dialogue_names import name_dialogues
from interloq.errors import InputError, count
from interloq.metrics.metric import Metric
from interloq.metrics.metric_names import find
from interloq.play.dialogue_origin import common_origin
from interloq.records import Key, Sample, SampleKeys, Score, format_key
from interloq.score.evaluate import evaluate_all
from interloq.score.parse_metrics import choose, file_metrics
from interloq.score.scored_samples import ScoredSamples
from interloq.score.signatures import read_signatures
from interloq.signature import Signature, fingerprint
from interloq.statistics.clustered import Clustered
from interloq.statistics.prediction_powered import are_selected

AGAIN = "make it again: interloq meta SCORES --samples SAMPLES --json > meta.json"
OTHERS = ""  # key of the margin for all metrics that have none of their own
Margins = float | Mapping[str, float]  # a mapping has names, labels or specs of metrics as keys, or OTHERS


def read_margins(texts: Sequence[str]) -> dict[str, float]:
    """Return `["0.02", "chrf=0.05"]` as {"": 0.02, "chrf": 0.05}."""
    margins: dict[str, float] = {}
    for text in texts:
        metric, _, written = text.rpartition("=")  # a spec may contain more of these
        if metric in margins:
            raise InputError(f"two margins for {metric or 'all metrics'}", hint="give one")
        try:
            margins[metric] = float(written)
        except ValueError:
            raise InputError(f"the margin {text!r} is not a number", hint="write X, or METRIC=X") from None
    return margins


def metric_margins(margins: Margins, metrics: Sequence[str]) -> dict[str, float]:
    """Return the margin for each gated metric; refuse missing margins, and margins for metrics that are not gated."""
    if not isinstance(margins, Mapping):
        margins = {OTHERS: margins}
    by_metric: dict[str, float] = {}
    for name, margin in margins.items():
        metric = find(name, metrics) if name else OTHERS
        if not (math.isfinite(margin) and margin > 0):
            whose = f" for {metric}" if metric else ""
            hint = "give the largest loss that is acceptable"
            raise InputError(f"the margin{whose} must be a positive number, got {margin}", hint=hint)
        if metric and metric not in metrics:
            raise InputError(f"a margin for {metric!r}, which is not gated", hint=f"gated: {', '.join(metrics)}")
        if metric in by_metric:
            raise InputError(f"two margins for {metric}", hint="give one")
        by_metric[metric] = margin
    for metric in metrics:
        if metric not in by_metric and OTHERS not in by_metric:
            raise InputError(f"no margin for {metric}", hint=f"add --margin {metric}=X, or --margin X for the rest")
    return {metric: by_metric.get(metric, by_metric.get(OTHERS, math.nan)) for metric in metrics}


# ---- margins in human ratings ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slopes:
    """The slope of each metric (score per unit of rating), what was rated, notes, and doubts by metric."""

    slopes: Mapping[str, Clustered] = field(default_factory=dict)
    rated: UnitKind = "sample"
    notes: Sequence[str] = ()
    doubts: Mapping[str, str] = field(default_factory=dict)


def margin_slopes(
    metrics: Sequence[str], options: GateOptions, judges: Mapping[str, Signature], reading: VersionReading
) -> Slopes:
    """Return the slopes that convert a margin in ratings; none if margins are in units of the metrics."""
    source, aspect = options.meta or options.rated, options.aspect or "overall"
    unit: UnitKind = "sample"
    if source is None:
        return Slopes()
    if options.meta is not None:
        table = _read_meta(options.meta, aspect)
        unit = "dialogue" if table.get("unit") == "dialogue" else "sample"
    slopes: dict[str, Clustered] = {}
    doubts: dict[str, str] = {}
    notes = [f"the margin is in ratings of {aspect}, converted by {source}"]
    for metric in metrics:
        if options.meta is not None:
            slopes[metric], note = _read_slope(metric, table, judges, str(options.meta), unit)
        else:
            slopes[metric], note = _slope(metric, source, options.rated_scores, judges, reading, doubts)
        notes += filter(None, [note])
    return Slopes(slopes, unit, notes, doubts)


def _note_unscored(metric: str, missing: int, rated: int, example: str, path: str, unit: UnitKind = "sample") -> str:
    """Return a note on rated units without a score, which may differ from the others; refuse too many."""
    if not missing:
        return ""
    rated_units = count(rated, f"rated {unit}")
    if missing > MOST_UNSCORED * rated:
        what = f"{metric} scored only {rated - missing:,} of {rated_units}{example}"
        raise InputError(what, hint="at least four fifths are needed to convert a margin", where=path)
    return f"{metric}: {missing:,} of {rated_units} without a score, not used to convert the margin{example}"


def _read_meta(path: str | Path, aspect: str) -> Mapping[str, Any]:
    """Return the table of one aspect from the JSON of `interloq meta`."""
    value, other = read_json(path, hint=AGAIN), "not the JSON of `interloq meta`"
    with reading_saved(path, other, hint=AGAIN):
        tables: dict[str, Mapping[str, Any]] = {str(table["aspect"]): table for table in value.get("tables", [value])}
        kinds = {str(table["signature"]["name"]) for table in tables.values()} - {"meta"}
    if kinds:
        raise InputError(f"{other}: its signature is that of {min(kinds)!r}", hint=AGAIN, where=str(path))
    if aspect not in tables:
        raise InputError(f"no table of {aspect!r}", hint=f"choose --aspect: {', '.join(tables)}", where=str(path))
    return tables[aspect]


def _read_slope(
    metric: str, table: Mapping[str, Any], judges: Mapping[str, Signature], path: str, unit: UnitKind
) -> tuple[Clustered, str]:
    """Return the score per unit of rating in the table, and a note on units without a score."""
    with reading_saved(path, f"no slope of {metric}", hint=AGAIN):
        rows = {str(row["metric"]): row for row in table["rows"]}
        row = rows[find(metric, rows)]
        slope, judge = row["slope"], table["judges"].get(row["metric"])
        if slope is None or judge is None:
            why = "scores without a signature" if slope else f"fewer than 10 rated {unit}s, or all with one rating"
            raise InputError(f"no slope of {metric}: {why}", hint=AGAIN, where=path)
        influence = {"": float(slope["error"])}
        stored = Clustered(float(slope["value"]), int(slope["n"]), float(slope["freedom"]), influence)
        missing = int(row["unscored"])
    _refuse_other_judge(metric, judges[metric], Signature.from_json(judge, where=path), path)
    return stored, _note_unscored(metric, missing, stored.n + missing, "", path, unit)


def _refuse_other_judge(metric: str, compared: Signature, rated: Signature, path: str) -> None:
    headers = {}
    for name, judge in {"the compared files": compared, path: rated}.items():
        headers[name] = {"results": [{"metric": metric, "signature": asdict(judge)}]}
    common_origin(headers)


def _slope(
    metric: str,
    rated: str | Path,
    rated_scores: str | Path | None,
    judges: Mapping[str, Signature],
    reading: VersionReading,
    doubts: dict[str, str],
) -> tuple[Clustered, str]:
    """Return the score per unit of rating, from rated samples of the same judge, and a note on samples without a score.

    If the rated samples were chosen by their scores, the metric is added to `doubts`.
    """
    samples: list[Sample] = reading.read(rated, "samples")
    rating_of = mean_ratings(samples, reading.options.ratings)
    if not rating_of:
        raise InputError(
            "no ratings to convert the margin with", hint="add ratings, or name --aspect", where=str(rated)
        )
    score_of, judge = _score_rated(metric, samples, rated_scores, reading)
    _refuse_other_judge(metric, judges[metric], judge, str(rated_scores or rated))
    ratings, scores = np.full((2, len(samples)), math.nan)
    for i, sample in enumerate(samples):
        ratings[i] = rating_of.get(sample.key, math.nan)
        score = score_of.get(sample.key)
        if score and score.value is not None:
            scores[i] = score.value
    if are_selected(ratings, scores):
        doubts[metric] = f"rated samples of {rated} score differently from the others, so they are not a random sample"
    is_rated, is_scored = ~np.isnan(ratings), ~np.isnan(scores)
    missing = np.flatnonzero(is_rated & ~is_scored)
    example = ""
    if len(missing):
        key = samples[missing[0]].key
        example = f", for example {format_key(key)}"
        if key in score_of and score_of[key].reason:
            example += f" ({score_of[key].reason})"
    note = _note_unscored(metric, len(missing), int(is_rated.sum()), example, str(rated_scores or rated))
    known = is_rated & is_scored
    clusters = [_cluster(sample) for sample in compress(name_dialogues(samples), known)]
    return score_slope(scores[known], ratings[known], clusters), note


def _cluster(sample: Sample) -> str:
    """Return what samples that are not independent share."""
    if sample.dialogue:
        return f"dialogue {sample.dialogue}"
    if not sample.context:
        return sample.id
    return fingerprint(*(turn.text for turn in sample.context))


def _score_rated(
    metric: str, samples: Sequence[Sample], path: str | Path | None, reading: VersionReading
) -> tuple[Mapping[Key, Score], Signature]:
    """Return scores of samples from a file, or made here; and the signature of the metric."""
    if path is None:
        with reading.progress("scoring rated samples", len(samples)) as step:
            built = _build_metric(metric, reading.options)
            result = evaluate_all([built], samples, n_bootstrap=0, progress=step)[0][""]
        return {score.key: score for score in result.scores(metric)}, result.signature
    judge = read_signatures(str(path)).get(metric)
    if judge is None:
        raise InputError(f"no scores of {metric}", hint="score the rated samples with it", where=str(path))
    sample_keys = SampleKeys(sample.key for sample in samples)
    scores = (score for score in reading.read(path, "scores") if score.metric == metric)
    by_key: dict[Key, Score] = {}
    for score in ScoredSamples(samples).check(scores, path):
        if key := sample_keys.find(score.id, score.system):
            by_key[key] = score
    return by_key, judge


def _build_metric(name: str, options: CompareOptions) -> Metric:
    """Return the metric with this name, which is a spec unless the metric is a function in a file."""
    functions, _ = choose(file_metrics(options.metrics), trust=options.trust)
    for choice in functions:
        if choice.name == name:
            return choice.metric
    return choose([name])[0][0].metric

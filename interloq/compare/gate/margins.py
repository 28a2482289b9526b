# SPDX-License-Identifier: Apache-2.0
"""Margins of a gate: one number for all metrics, or one per metric, since metrics have different scales.

Slopes convert a margin from human ratings to units of metrics. They are computed from rated samples, or read from the
stored JSON of `interloq meta`. The judge must be the same as of the compared versions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
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
    """`["0.02", "chrf=0.05"]` as {"": 0.02, "chrf": 0.05}."""
    found: dict[str, float] = {}
    for text in texts:
        metric, _, written = text.rpartition("=")  # a spec may contain more of these
        if metric in found:
            raise InputError(f"two margins for {metric or 'all metrics'}", hint="give one")
        try:
            found[metric] = float(written)
        except ValueError:
            raise InputError(f"the margin {text!r} is not a number", hint="write X, or METRIC=X") from None
    return found


def metric_margins(given: Margins, metrics: Sequence[str]) -> dict[str, float]:
    """The margin for each gated metric; a missing one, and one for a metric that is not gated, are refused."""
    found: dict[str, float] = {}
    for name, margin in (given if isinstance(given, Mapping) else {OTHERS: given}).items():
        metric = name and find(name, metrics)
        _check(metric, margin)
        if metric in found:
            raise InputError(f"two margins for {metric}", hint="give one")
        found[metric] = margin
    if unknown := [metric for metric in found if metric not in (OTHERS, *metrics)]:
        raise InputError(f"a margin for {unknown[0]!r}, which is not gated", hint=f"gated: {', '.join(metrics)}")
    if missing := [metric for metric in metrics if metric not in found and OTHERS not in found]:
        raise InputError(f"no margin for {missing[0]}", hint=f"add --margin {missing[0]}=X, or --margin X for the rest")
    return {metric: found[metric if metric in found else OTHERS] for metric in metrics}


def _check(metric: str, margin: float) -> None:
    if not (math.isfinite(margin) and margin > 0):
        what = f"the margin{f' for {metric}' if metric else ''} must be a positive number, got {margin}"
        raise InputError(what, hint="give the largest loss that is acceptable")


# ---- margins in human ratings ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slopes:
    """Score per unit of rating of each metric, what was rated, notes, and doubts by metric."""

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
    doubts: dict[str, str] = {}
    if options.meta is not None:
        table = _read_meta(options.meta, aspect)
        unit = "dialogue" if table.get("unit") == "dialogue" else "sample"
        found = {metric: _stored_slope(metric, table, judges, str(options.meta), unit) for metric in metrics}
    else:
        found = {m: _slope(m, source, options.rated_scores, judges, reading, doubts) for m in metrics}
    notes = [
        f"the margin is in ratings of {aspect}, converted by {source}",
        *(note for _, note in found.values() if note),
    ]
    return Slopes({metric: slope for metric, (slope, _) in found.items()}, unit, notes, doubts)


def _note_unscored(metric: str, missing: int, rated: int, example: str, path: str, unit: UnitKind = "sample") -> str:
    """A note on rated units without a score, which may differ from the others; too many are refused."""
    if missing > MOST_UNSCORED * rated:
        what = f"{metric} scored only {rated - missing:,} of {count(rated, f'rated {unit}')}{example}"
        raise InputError(what, hint="at least four fifths are needed to convert a margin", where=path)
    unscored = f"{metric}: {missing:,} of {count(rated, f'rated {unit}')} without a score"
    return f"{unscored}, not used to convert the margin{example}" if missing else ""


def _read_meta(path: str | Path, aspect: str) -> Mapping[str, Any]:
    """The table of one aspect from the JSON of `interloq meta`."""
    value, other = read_json(path, hint=AGAIN), "not the JSON of `interloq meta`"
    with reading_saved(path, other, hint=AGAIN):
        tables: dict[str, Mapping[str, Any]] = {str(table["aspect"]): table for table in value.get("tables", [value])}
        kinds = {str(table["signature"]["name"]) for table in tables.values()} - {"meta"}
    if kinds:
        raise InputError(f"{other}: its signature is that of {min(kinds)!r}", hint=AGAIN, where=str(path))
    if aspect not in tables:
        raise InputError(f"no table of {aspect!r}", hint=f"choose --aspect: {', '.join(tables)}", where=str(path))
    return tables[aspect]


def _stored_slope(
    metric: str, table: Mapping[str, Any], judges: Mapping[str, Signature], path: str, unit: UnitKind
) -> tuple[Clustered, str]:
    """Score per unit of rating in the table, and a note on units without a score."""
    with reading_saved(path, f"no slope of {metric}", hint=AGAIN):
        rows = {str(row["metric"]): row for row in table["rows"]}
        row = rows[find(metric, rows)]
        slope, judge = row["slope"], table["judges"].get(row["metric"])
        if slope is None or judge is None:
            why = "scores without a signature" if slope else f"fewer than 10 rated {unit}s, or all with one rating"
            raise InputError(f"no slope of {metric}: {why}", hint=AGAIN, where=path)
        found = Clustered(float(slope["value"]), int(slope["n"]), float(slope["freedom"]), {"": float(slope["error"])})
        missing = int(row["unscored"])
    _refuse_other_judge(metric, judges[metric], Signature.from_json(judge, where=path), path)
    return found, _note_unscored(metric, missing, found.n + missing, "", path, unit)


def _refuse_other_judge(metric: str, compared: Signature, rated: Signature, path: str) -> None:
    headers = {"the compared files": compared, path: rated}
    common_origin({n: {"results": [{"metric": metric, "signature": asdict(j)}]} for n, j in headers.items()})


def _slope(
    metric: str,
    rated: str | Path,
    rated_scores: str | Path | None,
    judges: Mapping[str, Signature],
    reading: VersionReading,
    doubts: dict[str, str],
) -> tuple[Clustered, str]:
    """Score per unit of rating, from rated samples scored by the same judge, and a note on those without a score.

    If the rated samples were chosen by their scores, the metric is added to `doubts`.
    """
    samples: list[Sample] = reading.read(rated, "samples")
    ratings = mean_ratings(samples, reading.options.ratings)
    if not ratings:
        raise InputError(
            "no ratings to convert the margin with", hint="add ratings, or name --aspect", where=str(rated)
        )
    scored, judge = _scored(metric, samples, rated_scores, reading)
    _refuse_other_judge(metric, judges[metric], judge, str(rated_scores or rated))
    values = {key: score.value for key, score in scored.items() if score.value is not None}
    aligned = (np.array([by_key.get(sample.key, math.nan) for sample in samples]) for by_key in (ratings, values))
    if are_selected(*aligned):
        doubts[metric] = f"rated samples of {rated} score differently from the others, so they are not a random sample"
    missing = [sample.key for sample in samples if sample.key in ratings and sample.key not in values]
    why = scored[missing[0]].reason if missing and missing[0] in scored else ""
    example = f", for example {format_key(missing[0])}{f' ({why})' if why else ''}" if missing else ""
    note = _note_unscored(metric, len(missing), len(ratings), example, str(rated_scores or rated))
    known = [sample for sample in name_dialogues(samples) if sample.key in ratings and sample.key in values]
    scores, people = (np.array([by_key[sample.key] for sample in known]) for by_key in (values, ratings))
    return score_slope(scores, people, [_cluster(sample) for sample in known]), note


def _cluster(sample: Sample) -> str:
    """What samples that are not independent share."""
    if sample.dialogue:
        return f"dialogue {sample.dialogue}"
    return fingerprint(*(turn.text for turn in sample.context)) if sample.context else sample.id


def _scored(
    metric: str, samples: Sequence[Sample], path: str | Path | None, reading: VersionReading
) -> tuple[Mapping[Key, Score], Signature]:
    """Scores of samples from a file, or made here; and the signature of the metric."""
    if path is None:
        with reading.progress("scoring rated samples", len(samples)) as step:
            built = _built(metric, reading.options)
            result = evaluate_all([built], samples, n_bootstrap=0, progress=step)[0][""]
        return {score.key: score for score in result.scores(metric)}, result.signature
    known, judge = SampleKeys(sample.key for sample in samples), read_signatures(str(path)).get(metric)
    if judge is None:
        raise InputError(f"no scores of {metric}", hint="score the rated samples with it", where=str(path))
    own = [score for score in reading.read(path, "scores") if score.metric == metric]
    own = list(ScoredSamples(samples).check(own, path))
    return {key: score for score in own if (key := known.find(score.id, score.system))}, judge


def _built(name: str, options: CompareOptions) -> Metric:
    """The metric of this name; that of a function of a file is not its spec."""
    chosen, _ = choose(file_metrics(options.metrics), trust=options.trust)
    found = [one for one in chosen if one.name == name] or choose([name])[0]
    metric: Metric = found[0].metric
    return metric

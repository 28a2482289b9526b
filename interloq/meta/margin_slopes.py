# SPDX-License-Identifier: Apache-2.0
"""Slopes that convert a margin from human ratings to units of metrics.

They are computed from rated samples, or read from the stored JSON of `interloq meta`. The judge must be that of the
compared versions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from interloq.data.files import read_json, reading_saved
from interloq.errors import InputError
from interloq.meta.compare_options import CompareOptions, GateOptions
from interloq.meta.origin import common_origin
from interloq.meta.score_slope import score_slope
from interloq.meta.signatures import read_signatures
from interloq.meta.version_files import Reading
from interloq.meta.version_units import mean_ratings
from interloq.metrics.chosen import choose, file_metrics
from interloq.metrics.evaluate import evaluate_all
from interloq.metrics.metric import Metric
from interloq.metrics.metric_names import find
from interloq.records import Key, Sample, SampleKeys
from interloq.signature import Signature, fingerprint
from interloq.statistics.clustered import Clustered

AGAIN = "make it again: interloq meta SCORES --samples SAMPLES --json > meta.json"


def margin_slopes(
    metrics: Sequence[str], options: GateOptions, judges: Mapping[str, Signature], reading: Reading
) -> dict[str, Clustered]:
    """Score per unit of rating of each metric; empty if the margin is in units of the metrics."""
    if options.meta is not None:
        table = _read_meta(options.meta, options.aspect or "overall")
        return {metric: _stored_slope(metric, table, judges, str(options.meta)) for metric in metrics}
    if options.rated is None:
        return {}
    return {metric: _slope(metric, options.rated, options.rated_scores, judges, reading) for metric in metrics}


def slope_notes(options: GateOptions) -> list[str]:
    """A note on the ratings that the margin is in."""
    source = options.meta or options.rated
    return [f"the margin is in ratings of {options.aspect or 'overall'}, converted by {source}"] if source else []


def _read_meta(path: str | Path, aspect: str) -> Mapping[str, Any]:
    """The table of one aspect from the JSON of `interloq meta`."""
    value = read_json(path, hint=AGAIN)
    with reading_saved(path, "not the JSON of `interloq meta`", hint=AGAIN):
        tables: dict[str, Mapping[str, Any]] = {str(table["aspect"]): table for table in value.get("tables", [value])}
    if aspect not in tables:
        raise InputError(f"no table of {aspect!r}", hint=f"choose --aspect: {', '.join(tables)}", where=str(path))
    return tables[aspect]


def _stored_slope(metric: str, table: Mapping[str, Any], judges: Mapping[str, Signature], path: str) -> Clustered:
    with reading_saved(path, f"no slope of {metric}", hint=AGAIN):
        rows = {str(row["metric"]): row for row in table["rows"]}
        row = rows[find(metric, rows)]
        slope, judge = row["slope"], table["judges"].get(row["metric"])
        if slope is None or judge is None:
            why = "scores without a signature" if slope else "fewer than 10 rated samples, or all with one rating"
            raise InputError(f"no slope of {metric}: {why}", hint=AGAIN, where=path)
        found = Clustered(float(slope["value"]), int(slope["n"]), float(slope["freedom"]), {"": float(slope["error"])})
    _refuse_other_judge(metric, judges[metric], Signature.from_json(judge, where=path), path)
    return found


def _refuse_other_judge(metric: str, compared: Signature, rated: Signature, path: str) -> None:
    headers = {"the compared files": compared, path: rated}
    common_origin({n: {"results": [{"metric": metric, "signature": asdict(j)}]} for n, j in headers.items()})


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
    _refuse_other_judge(metric, judges[metric], judge, str(rated_scores or rated))
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
        result = evaluate_all([_built(metric, reading.options)], samples, n_bootstrap=0)[0][""]
        return result.by_sample, result.signature
    known, judge = SampleKeys(sample.key for sample in samples), read_signatures(str(path)).get(metric)
    if judge is None:
        raise InputError(f"no scores of {metric}", hint="score the rated samples with it", where=str(path))
    own = [score for score in reading.read(path, "scores") if score.metric == metric and score.value is not None]
    return {key: score.value for score in own if (key := known.find(score.id, score.system))}, judge


def _built(name: str, options: CompareOptions) -> Metric:
    """The metric of this name; that of a function of a file is not its spec."""
    chosen, _ = choose(file_metrics(options.metrics), trust=options.trust_files)
    found = [one for one in chosen if one.name == name] or choose([name])[0]
    metric: Metric = found[0].metric
    return metric

"""From files of an old and a new version to a verdict. Everything that makes a verdict doubtful is refused."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from interloq.data.convert_file import kind_held
from interloq.data.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.errors import InputError, RejectedWarning, count
from interloq.meta.baseline import read_baseline, write_baseline
from interloq.meta.compare import WORST, compare
from interloq.meta.gate import Gate, gate
from interloq.meta.origin import common_origin
from interloq.meta.repeats import Noise, repeated
from interloq.meta.score_slope import score_slope
from interloq.meta.signatures import read_signatures
from interloq.meta.version_files import Reading, Versions, read_versions
from interloq.meta.version_units import Ratings, mean_ratings
from interloq.meta.versions import Version, matched, unscored
from interloq.metrics.chosen import choose
from interloq.metrics.evaluate import evaluate_all
from interloq.metrics.metric_names import downwards
from interloq.records import Key, Sample, SampleKeys
from interloq.signature import Signature, fingerprint
from interloq.statistics.clustered import Clustered

OLD, NEW = "old", "new"


def gate_file(
    new: str | Path,
    *,
    margin: float,
    old: str | Path | None = None,
    baseline: str | Path | None = None,
    metrics: Sequence[str] = (),
    rated: str | Path | None = None,
    rated_scores: str | Path | None = None,
    by_ratings: bool = False,
    repeat: Sequence[str | Path] = (),
    samples: Sequence[str | Path] = (),
    old_system: str = "",
    new_system: str = "",
    aspect: str = "",
    role: str = "",
    slice_by: Sequence[str] | None = None,
    lower_is_better: bool | None = None,
    n_permutations: int | None = None,
    seed: int = 0,
    worst: int = WORST,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> Gate:
    """Verdict on a new version, compared with the file of an old one or with a baseline; see `gate`.

    `rated` is a file of rated samples that converts the margin from human ratings; they are scored here, unless
    `rated_scores` has their scores. `repeat` are further runs of the new version. Other options are those of
    `compare_file`. Bad lines, units without a score or a partner, and files from different metrics, judges or partner
    sets raise an InputError.
    """
    if (old is None) == (baseline is None):
        raise InputError(
            "a gate needs either an old version or a baseline", hint="give OLD NEW, or NEW --baseline FILE"
        )
    reading = Reading(
        metrics=metrics,
        samples=samples,
        systems={OLD: old_system, **dict.fromkeys([NEW, *_numbered(repeat)], new_system)},
        ratings=Ratings(aspect, role),
        slice_by=slice_by,
        strict=True,
        columns=columns,
        progress=progress,
    )
    found = _read({**({OLD: old} if old else {}), NEW: new, **_numbered(repeat)}, baseline, reading)
    gated = _gated(found, lower_is_better)
    second, noise = _with_repeats(found, [new, *repeat], gated)
    _refuse_gaps(found.versions[OLD], second, gated)
    comparison = compare(
        found.versions[OLD],
        second,
        slice_by=slice_by,
        lower_is_better=lower_is_better,
        n_permutations=n_permutations,
        seed=seed,
        worst=worst,
    )
    comparison = replace(comparison, notes=(*comparison.notes, *found.notes))
    slopes = {m: _slope(m, rated, rated_scores, found.judges, reading) for m in gated} if rated else None
    return gate(comparison, margin, slopes=slopes, by_ratings=by_ratings, noise=noise)


def bless_file(
    new: str | Path,
    baseline: str | Path,
    *,
    metrics: Sequence[str] = (),
    samples: Sequence[str | Path] = (),
    new_system: str = "",
    aspect: str = "",
    role: str = "",
    slice_by: Sequence[str] | None = None,
    lower_is_better: bool | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> Version:
    """Write a version as the baseline of later gates, replacing an earlier one."""
    refuse_overwriting([baseline], [new, *samples])
    reading = Reading(
        metrics=metrics,
        samples=samples,
        systems={NEW: new_system},
        ratings=Ratings(aspect, role),
        slice_by=slice_by,
        strict=True,
        columns=columns,
        progress=progress,
    )
    found = _read({NEW: new}, None, reading)
    version = found.versions[NEW]
    for metric in _gated(found, lower_is_better):
        _refuse_unscored(version, metric, NEW)
    write_baseline(baseline, version, found)
    return version


def _numbered(repeat: Sequence[str | Path]) -> dict[str, str | Path]:
    return {f"repeat {i}": path for i, path in enumerate(repeat)}


@contextmanager
def _nothing_rejected() -> Iterator[None]:
    """Turn warnings about input that was set aside into errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RejectedWarning)
        try:
            yield
        except RejectedWarning as warning:
            raise InputError(f"not all of the input can be used: {warning}") from warning


def _read(files: Mapping[str, str | Path], baseline: str | Path | None, reading: Reading) -> Versions:
    """The versions in files, and the baseline as the old one; refused if it was scored or played differently."""
    known = read_baseline(baseline) if baseline else None
    if known and not reading.metrics and kind_held(files[NEW]) != "scores":
        reading = replace(reading, metrics=known.versions[OLD].metrics)
    with _nothing_rejected():
        found = read_versions(files, reading)
    if known is None:
        return found
    old, new = known.versions[OLD], found.versions[NEW]
    if old.unit != new.unit:
        what = f"{baseline} has {old.unit}s, {files[NEW]} has {new.unit}s"
        raise InputError(what, hint="give the same kind of file as was blessed")
    origin = common_origin({str(baseline): _as_header(known), str(files[NEW]): _as_header(found)})
    if reading.metrics:
        old = replace(old, units=tuple(replace(u, values=_only(u.values, new.metrics)) for u in old.units))
    return Versions({OLD: old, **found.versions}, found.judges, origin, found.notes)


def _only(values: Mapping[str, float], metrics: Sequence[str]) -> dict[str, float]:
    return {metric: value for metric, value in values.items() if metric in metrics}


def _as_header(found: Versions) -> dict[str, Any]:
    kind = "dialogues" if any(v.unit == "dialogue" for v in found.versions.values()) else "samples"
    results = [{"metric": name, "signature": asdict(judge)} for name, judge in found.judges.items()]
    return {"kind": kind, **found.origin, "results": results}


def _gated(found: Versions, lower_is_better: bool | None) -> list[str]:
    """Metrics of the verdict; one that did not score all versions, or has no direction or signature, is refused."""
    metrics = found.versions[NEW].metrics
    for version in found.versions.values():
        if missing := sorted(set(version.metrics) ^ set(metrics)):
            what = f"{missing[0]} did not score both {version.name} and {found.versions[NEW].name}"
            raise InputError(what, hint="score all versions with the same metrics, or choose some with -m")
    for metric in metrics:
        downwards(metric, lower_is_better)
        if metric not in found.judges:
            what = f"the scores of {metric} have no signature, so it is unknown whether the same judge gave them"
            raise InputError(what, hint="score both versions with `interloq score`")
    return metrics


def _with_repeats(
    found: Versions, paths: Sequence[str | Path], metrics: Sequence[str]
) -> tuple[Version, Sequence[Noise]]:
    """The new version averaged over its runs; `paths` are the files of all runs."""
    new, *repeats = (found.versions[name] for name in [NEW, *_numbered(paths[1:])])
    if not repeats:
        return new, ()
    for version in (new, *repeats):
        for metric in metrics:
            _refuse_unscored(version, metric, NEW)
    replies = []
    if kind_held(paths[0]) == "scores":  # they judge the same replies if they have the same fingerprint of samples
        replies = [read_signatures(str(path))[metrics[0]].parts.get("samples", "") for path in paths]
    return repeated(new, repeats, metrics, replies=replies)


def _refuse_gaps(old: Version, new: Version, metrics: Sequence[str]) -> None:
    units = matched(old, new)
    if units.pairs and any(units.alone):
        only = " and ".join(f"{n} only in the {side} version" for side, n in zip((OLD, NEW), units.alone, strict=True))
        what = f"the test sets differ: {count(len(units.pairs), new.unit)} in both, {only}"
        raise InputError(what, hint="let both versions answer the same prompts, or bless a new baseline")
    for side, version in ((OLD, old), (NEW, new)):
        for metric in metrics:
            _refuse_unscored(version, metric, side)


def _refuse_unscored(version: Version, metric: str, side: str) -> None:
    if missing := list(unscored(version, metric)):
        first = missing[0]
        why = f" ({first.reasons[metric]})" if metric in first.reasons else ""
        what = f"{metric} left {count(len(missing), version.unit)} of the {side} version unscored"
        raise InputError(f"{what}, for example {first.id!r}{why}", hint="a verdict needs all scores")


def _slope(
    metric: str,
    rated: str | Path,
    rated_scores: str | Path | None,
    judges: Mapping[str, Signature],
    reading: Reading,
) -> Clustered:
    """Score per unit of rating, from rated samples scored by the same judge."""
    samples: list[Sample] = reading.read(rated, "samples")
    ratings = mean_ratings(samples, reading.ratings)
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

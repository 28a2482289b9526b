# SPDX-License-Identifier: Apache-2.0
"""From files of an old and a new version to a verdict. Everything that makes a verdict doubtful is refused.

A baseline is a file with a version that was accepted, and everything needed to compare later versions with it: a header
with the signatures of the metrics and the origin of dialogues, then one unit per line. Only `bless_file` writes one.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson

from interloq.compare.compare_file import UNPAIRED, compare_judged, judge_versions
from interloq.compare.compare_options import BESIDE, COMPARE_DEFAULTS, GATE_DEFAULTS, CompareOptions, GateOptions
from interloq.compare.compared_references import check_references, references_read
from interloq.compare.gate.gate import Gate, gate
from interloq.compare.gate.margins import Margins, margin_slopes
from interloq.compare.match_versions import PAIRINGS, Unit, Version, explain_unpaired, list_unscored, match_units
from interloq.compare.repeats import Noise, average_repeats
from interloq.compare.version_files import VersionReading, Versions, read_versions
from interloq.data.files.opening import lines, reading_saved
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.data.records.convert_file import detect_kind
from interloq.data.records.jsonl import SCHEMA, header, write
from interloq.data.records.parsers import parse_number
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError, RejectedWarning, count
from interloq.metrics.metric_names import downwards
from interloq.play.dialogue_origin import common_origin, origin
from interloq.score.parse_metrics import choose
from interloq.score.signatures import read_signatures

OLD, NEW = "old", "new"
KIND = "baseline"
NAMED = "dialogues_named"  # in the header; baselines of earlier builds have dialogues that were read from ids
AGAIN = "make it again: interloq gate NEW -m METRIC --bless --baseline FILE"
BLESS = "give NEW the references of the baseline, or bless a new one: interloq gate NEW --bless --baseline FILE"


def gate_file(
    new: str | Path,
    options: GateOptions = GATE_DEFAULTS,
    *,
    margin: Margins,
    old: str | Path | None = None,
    baseline: str | Path | None = None,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> Gate:
    """Return the verdict on a new version, compared with the file of an old one or with a baseline; see `gate`.

    Bad lines, units without a score or a partner, and files from different metrics, judges or partner sets raise an
    InputError.
    """
    if (old is None) == (baseline is None):
        raise InputError(
            "a gate needs either an old version or a baseline", hint="give OLD NEW, or NEW --baseline FILE"
        )
    _check(options, baseline)
    version_reading = VersionReading(options, replace(reading, strict=True), progress)
    files: dict[str, str | Path] = {NEW: new, **_number_repeats(options.repeat)}
    if old:
        files = {OLD: old, **files}
    read = _read(files, baseline, version_reading)
    gated = select_gated_metrics(read, options)
    averaged, noise = _average_repeats(read, [new, *options.repeat], gated)
    refuse_gaps(read.versions[OLD], averaged, gated, allow_unpaired=options.allow_unpaired)
    judged = judge_versions(read.versions[OLD], averaged, options.judge)
    if judged.preference:
        gated = [judged.preference, *gated]
        allowed = UNPAIRED if options.allow_unpaired else ""
        refuse_unscored(judged.new, judged.preference, NEW, allowed=allowed)
    if options.rated and not options.rated_scores and detect_kind(new) == "scores":
        choose(gated, trust=options.trust, where=str(new))
    with refuse_rejected_input():
        slopes = margin_slopes(gated, options, read.judges, version_reading)
    comparison = compare_judged(judged, options, notes=[*slopes.notes, *read.notes])
    return gate(
        comparison,
        margin,
        metrics=gated,
        slopes=slopes.slopes,
        rated=slopes.rated,
        doubts=slopes.doubts,
        by_ratings=options.by_ratings,
        noise=noise,
        slices=options.slices,
        allow_constant=options.allow_constant,
    )


def _check(options: GateOptions, baseline: str | Path | None) -> None:
    """Refuse options that contradict each other."""
    units = {"--rated": options.rated, "--meta": options.meta, "--by-ratings": options.by_ratings}
    converted = [name for name, value in units.items() if value]
    if len(converted) > 1:
        raise InputError(f"{' and '.join(converted)} both set the unit of the margin", hint="give one of them")
    if options.n_permutations == 0:
        raise InputError("a verdict needs a test", hint="omit --permutations 0")
    others = list(converted)
    if options.repeat:
        others.append("--repeat")
    if options.shared_references and baseline:
        raise InputError("a baseline keeps scores, not references to share", hint="gate OLD NEW, or bless a new one")
    if options.judge and others:
        raise InputError(f"--judge cannot be combined with {others[0]}", hint="gate by metrics in a second command")
    if options.by_ratings and options.slices != "shown":
        raise InputError("slices cannot be gated by ratings", hint="omit --slices or --by-ratings")


def bless_file(
    new: str | Path,
    baseline: str | Path,
    options: CompareOptions = COMPARE_DEFAULTS,
    *,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> Version:
    """Write a version as the baseline of later gates, replacing an earlier one."""
    refuse_overwriting([baseline], [new, *options.samples])
    for option, value in {"--judge": options.judge, "--shared-references": options.shared_references}.items():
        if value:
            raise InputError(f"{option} is about two versions, and a baseline is one", hint=f"bless without {option}")
    read = _read({NEW: new}, None, VersionReading(options, replace(reading, strict=True), progress))
    version = read.versions[NEW]
    for metric in select_gated_metrics(read, options):
        refuse_unscored(version, metric, NEW)
    write_baseline(baseline, version, read)
    return version


def _number_repeats(repeat: Sequence[str | Path]) -> dict[str, str | Path]:
    return {f"repeat {i}": path for i, path in enumerate(repeat, 1)}


def _read(files: Mapping[str, str | Path], baseline: str | Path | None, reading: VersionReading) -> Versions:
    """Return the versions in files, and the baseline as the old one; refuse it if scored or played differently."""
    options = reading.options
    if not baseline:
        with refuse_rejected_input():
            return read_versions(files, reading)
    blessed = read_baseline(baseline)
    if not options.metrics and detect_kind(files[NEW]) != "scores":
        metrics = blessed.versions[OLD].metrics
        choose(metrics, trust=options.trust, where=str(baseline))
        options = replace(options, metrics=metrics)
    with refuse_rejected_input():
        read = read_versions(files, replace(reading, options=options))
    old, new = blessed.versions[OLD], read.versions[NEW]
    if old.unit != new.unit:
        what = f"{baseline} has {old.unit}s, {files[NEW]} has {new.unit}s"
        raise InputError(what, hint="give the same kind of file as was blessed")
    origin = common_origin({str(baseline): _as_header(blessed), str(files[NEW]): _as_header(read)})
    if options.metrics:
        units = []
        for unit in old.units:
            values = {metric: value for metric, value in unit.values.items() if metric in new.metrics}
            units.append(replace(unit, values=values))
        old = replace(old, units=tuple(units))
    reads = references_read({metric: metric for metric in new.metrics})
    notes = check_references(old, new, reads, hint=BLESS, names=f"{baseline} and {files[NEW]}")
    return Versions({OLD: old, **read.versions}, read.judges, origin, (*read.notes, *notes))


def _as_header(read: Versions) -> dict[str, Any]:
    kinds = {version.unit for version in read.versions.values()}
    return {"kind": "dialogues" if "dialogue" in kinds else "samples", **read.origin, "results": _sign_metrics(read)}


def _sign_metrics(read: Versions) -> list[dict[str, Any]]:
    return [{"metric": name, "signature": asdict(judge)} for name, judge in read.judges.items()]


def _average_repeats(
    read: Versions, paths: Sequence[str | Path], metrics: Sequence[str]
) -> tuple[Version, Sequence[Noise]]:
    """Return the new version averaged over its runs; `paths` are the files of all runs."""
    new, *repeats = (read.versions[name] for name in [NEW, *_number_repeats(paths[1:])])
    if not repeats:
        return new, ()
    for version in (new, *repeats):
        for metric in metrics:
            refuse_unscored(version, metric, NEW)
    replies = []
    if detect_kind(paths[0]) == "scores":  # they judge the same replies if they have the same fingerprint of samples
        replies = [read_signatures(str(path))[metrics[0]].parts.get("samples", "") for path in paths]
    return average_repeats(new, repeats, metrics, replies=replies)


# ---- baseline files --------------------------------------------------------------------------------------------------


def write_baseline(path: str | Path, version: Version, read: Versions) -> None:
    """Write a version as the baseline."""
    facts: dict[str, Any] = {**read.origin, "name": version.name, "unit": version.unit}
    facts |= {"results": _sign_metrics(read), NAMED: True}
    write(path, [replace(unit, turns=()) for unit in version.units], kind=KIND, **facts)


def read_baseline(path: str | Path) -> Versions:
    """Return the version in a baseline file as `old`, with signatures and origin."""
    facts = header(path)
    if facts.get("kind") != KIND or facts.get("schema") != SCHEMA:
        raise InputError("not a baseline file", hint=AGAIN, where=str(path))
    with reading_saved(path, "the baseline cannot be read", hint=AGAIN):
        units = tuple(_unit(orjson.loads(line), NAMED in facts) for number, line in lines(path) if number > 1)
        version = Version(str(facts["name"]), facts["unit"], units)
    if not units or version.unit not in ("sample", "dialogue"):
        raise InputError("the baseline has no units", hint=AGAIN, where=str(path))
    return Versions({"old": version}, read_signatures(str(path)), origin(facts))


def _unit(value: Any, named: bool) -> Unit:
    dialogue = str(value.get("dialogue", ""))
    return Unit(
        id=str(value["id"]),
        values={str(metric): _number(score, "value") for metric, score in value["values"].items()},
        keys={pairing: str(value["keys"][pairing]) for pairing in PAIRINGS if pairing in value["keys"]},
        dialogue=dialogue if named else "",
        rating=_number(value.get("rating"), "rating"),
        fields={str(name): str(text) for name, text in value.get("fields", {}).items()},
        prompt=str(value.get("prompt", "")),
        text=str(value.get("text", "")),
        ends=tuple(map(str, value.get("ends", ()))),
        sample=str(value.get("sample", "")),
    )


def _number(value: Any, name: str) -> float:
    number = parse_number(value, name)
    return math.nan if number is None else number  # null is an unscored or unrated unit


# ---- refusals --------------------------------------------------------------------------------------------------------


@contextmanager
def refuse_rejected_input() -> Iterator[None]:
    """Turn warnings about input that was set aside into errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RejectedWarning)
        try:
            yield
        except RejectedWarning as warning:
            raise InputError(f"not all of the input can be used: {warning}") from warning


def select_gated_metrics(read: Versions, options: CompareOptions) -> list[str]:
    """Return the metrics of the verdict; refuse one that did not score all versions, or has no direction or signature.

    Metrics that are only shown beside a judge's preferences are not among them.
    """
    metrics = read.versions[NEW].metrics
    for side, version in read.versions.items():
        if missing := sorted(set(version.metrics) ^ set(metrics)):
            what = f"{missing[0]} did not score all versions: {side} and new differ"
            raise InputError(what, hint="score all versions with the same metrics, or choose some with -m")
    if options.judge and not options.metrics:
        metrics = [metric for metric in metrics if metric not in BESIDE]
    for metric in metrics:
        downwards(metric, options.lower_is_better, verb="gate")
        if metric not in read.judges:
            what = f"the scores of {metric} have no signature, so it is unknown whether the same judge gave them"
            raise InputError(what, hint="score both versions with `interloq score`")
    return metrics


def refuse_gaps(old: Version, new: Version, metrics: Sequence[str], *, allow_unpaired: bool = False) -> None:
    """Refuse test sets that differ, and units without a score."""
    units = match_units(old, new)
    if any(units.alone) and not allow_unpaired:
        only_old, only_new = units.alone
        only = f"{only_old} only in the old version and {only_new} only in the new version"
        what = f"{count(len(units.pairs), new.unit)} in both, {only}"
        hint = "let both versions answer the same prompts, or bless a new baseline"
        why, advice = explain_unpaired(old, new, units)
        if why:
            hint = advice
            what = f"{what} ({why})" if units.pairs else why
        raise InputError(f"the test sets differ: {what}", hint=f"{hint}, or add --allow-unpaired")
    for side, version in ((OLD, old), (NEW, new)):
        for metric in metrics:
            refuse_unscored(version, metric, side)


def refuse_unscored(version: Version, metric: str, side: str, *, allowed: str = "") -> None:
    """Refuse a version with units that the metric did not score, unless for the allowed reason."""
    missing = list_unscored(version, metric)
    if allowed:
        missing = [unit for unit in missing if unit.reasons.get(metric) != allowed]
    if missing:
        first = missing[0]
        why = f" ({first.reasons[metric]})" if metric in first.reasons else ""
        what = f"{metric} left {count(len(missing), version.unit)} of the {side} version unscored"
        raise InputError(f"{what}, for example {first.id!r}{why}", hint="a verdict needs all scores")

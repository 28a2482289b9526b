# SPDX-License-Identifier: Apache-2.0
"""From files of an old and a new version to a verdict. Everything that makes a verdict doubtful is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from interloq.compare.compare_file import compare_judged
from interloq.compare.compare_options import COMPARE_DEFAULTS, GATE_DEFAULTS, CompareOptions, GateOptions
from interloq.compare.compared_references import check_references, references_read
from interloq.compare.gate.gate import Gate, gate
from interloq.compare.gate.gate_baseline import read_baseline, write_baseline
from interloq.compare.gate.gate_refusals import NEW, OLD, gated_metrics, nothing_rejected, refuse_gaps, refuse_unscored
from interloq.compare.gate.margin_slopes import margin_slopes
from interloq.compare.gate.margins import Margins
from interloq.compare.judge_preferences import UNPAIRED, judge_versions
from interloq.compare.repeats import Noise, average_repeats
from interloq.compare.version_files import VersionReading, Versions, read_versions
from interloq.compare.versions import Version
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.data.records.convert_file import kind_held
from interloq.errors import InputError
from interloq.play.dialogue_origin import common_origin
from interloq.score.parse_metrics import choose
from interloq.score.signatures import read_signatures

BLESS = "give NEW the references of the baseline, or bless a new one: interloq gate NEW --bless --baseline FILE"


def gate_file(
    new: str | Path,
    options: GateOptions = GATE_DEFAULTS,
    *,
    margin: Margins,
    old: str | Path | None = None,
    baseline: str | Path | None = None,
    progress: Progress = silent,
) -> Gate:
    """Verdict on a new version, compared with the file of an old one or with a baseline; see `gate`.

    Bad lines, units without a score or a partner, and files from different metrics, judges or partner sets raise an
    InputError.
    """
    if (old is None) == (baseline is None):
        raise InputError(
            "a gate needs either an old version or a baseline", hint="give OLD NEW, or NEW --baseline FILE"
        )
    _check(options, baseline)
    reading = VersionReading(options, strict=True, progress=progress)
    repeats = _numbered(options.repeat)
    found = _read({**({OLD: old} if old else {}), NEW: new, **repeats}, baseline, reading)
    gated = gated_metrics(found, options)
    second, noise = _with_repeats(found, [new, *options.repeat], gated)
    refuse_gaps(found.versions[OLD], second, gated, allow_unpaired=options.allow_unpaired)
    judged = judge_versions(found.versions[OLD], second, options.judge)
    if judged.preference:
        gated = [judged.preference, *gated]
        refuse_unscored(judged.new, judged.preference, NEW, allowed=UNPAIRED if options.allow_unpaired else "")
    if options.rated and not options.rated_scores and kind_held(new) == "scores":
        choose(gated, trust=options.trust, where=str(new))
    with nothing_rejected():
        slopes = margin_slopes(gated, options, found.judges, reading)
    comparison = compare_judged(judged, options, notes=[*slopes.notes, *found.notes])
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
    converted = [name for name, given in units.items() if given]
    if len(converted) > 1:
        raise InputError(f"{' and '.join(converted)} both set the unit of the margin", hint="give one of them")
    if options.n_permutations == 0:
        raise InputError("a verdict needs a test", hint="omit --permutations 0")
    others = [*converted, *(["--repeat"] if options.repeat else [])]
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
    progress: Progress = silent,
) -> Version:
    """Write a version as the baseline of later gates, replacing an earlier one."""
    refuse_overwriting([baseline], [new, *options.samples])
    for option, given in {"--judge": options.judge, "--shared-references": options.shared_references}.items():
        if given:
            raise InputError(f"{option} is about two versions, and a baseline is one", hint=f"bless without {option}")
    found = _read({NEW: new}, None, VersionReading(options, strict=True, progress=progress))
    version = found.versions[NEW]
    for metric in gated_metrics(found, options):
        refuse_unscored(version, metric, NEW)
    write_baseline(baseline, version, found)
    return version


def _numbered(repeat: Sequence[str | Path]) -> dict[str, str | Path]:
    return {f"repeat {i}": path for i, path in enumerate(repeat, 1)}


def _read(files: Mapping[str, str | Path], baseline: str | Path | None, reading: VersionReading) -> Versions:
    """The versions in files, and the baseline as the old one; refused if it was scored or played differently."""
    known = read_baseline(baseline) if baseline else None
    options = reading.options
    if known and not options.metrics and kind_held(files[NEW]) != "scores":
        metrics = known.versions[OLD].metrics
        choose(metrics, trust=options.trust, where=str(baseline))
        options = replace(options, metrics=metrics)
    with nothing_rejected():
        found = read_versions(files, replace(reading, options=options))
    if known is None:
        return found
    old, new = known.versions[OLD], found.versions[NEW]
    if old.unit != new.unit:
        what = f"{baseline} has {old.unit}s, {files[NEW]} has {new.unit}s"
        raise InputError(what, hint="give the same kind of file as was blessed")
    origin = common_origin({str(baseline): _as_header(known), str(files[NEW]): _as_header(found)})
    if options.metrics:
        old = replace(old, units=tuple(replace(u, values=_only(u.values, new.metrics)) for u in old.units))
    reads = references_read({metric: metric for metric in new.metrics})
    notes = check_references(old, new, reads, hint=BLESS, names=f"{baseline} and {files[NEW]}")
    return Versions({OLD: old, **found.versions}, found.judges, origin, (*found.notes, *notes))


def _only(values: Mapping[str, float], metrics: Sequence[str]) -> dict[str, float]:
    return {metric: value for metric, value in values.items() if metric in metrics}


def _as_header(found: Versions) -> dict[str, Any]:
    kind = "dialogues" if any(v.unit == "dialogue" for v in found.versions.values()) else "samples"
    results = [{"metric": name, "signature": asdict(judge)} for name, judge in found.judges.items()]
    return {"kind": kind, **found.origin, "results": results}


def _with_repeats(
    found: Versions, paths: Sequence[str | Path], metrics: Sequence[str]
) -> tuple[Version, Sequence[Noise]]:
    """The new version averaged over its runs; `paths` are the files of all runs."""
    new, *repeats = (found.versions[name] for name in [NEW, *_numbered(paths[1:])])
    if not repeats:
        return new, ()
    for version in (new, *repeats):
        for metric in metrics:
            refuse_unscored(version, metric, NEW)
    replies = []
    if kind_held(paths[0]) == "scores":  # they judge the same replies if they have the same fingerprint of samples
        replies = [read_signatures(str(path))[metrics[0]].parts.get("samples", "") for path in paths]
    return average_repeats(new, repeats, metrics, replies=replies)

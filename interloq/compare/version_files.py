# SPDX-License-Identifier: Apache-2.0
"""Read versions of a system from files of samples, dialogues or scores; samples and dialogues are scored here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from interloq.compare.compare_options import COMPARE_DEFAULTS, CompareOptions
from interloq.compare.compared_references import (
    check_references,
    check_sample_references,
    references_read,
    share_references,
)
from interloq.compare.match_versions import Unit, Version
from interloq.compare.version_units import common_scale, dialogue_units, sample_units
from interloq.data.progress import Progress, silent
from interloq.data.records.convert_file import detect_kind
from interloq.data.records.jsonl import header
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.data.tool_logs.inspect_scores import as_score_files
from interloq.errors import InputError
from interloq.metrics.metric import Metric
from interloq.metrics.metric_names import find
from interloq.play.dialogue_origin import common_origin
from interloq.play.samples import find_judged_systems, samples, system_ratings, whole_dialogues
from interloq.records import Dialogue, Result, Sample, Score
from interloq.score.default_metrics import require_judge
from interloq.score.evaluate import evaluate_all, evaluate_by_unit
from interloq.score.parse_metrics import Chosen, choose
from interloq.score.scored_samples import ScoredSamples
from interloq.score.signatures import read_known_signatures
from interloq.signature import Signature


@dataclass(frozen=True, slots=True)
class VersionReading:
    """How files of versions are read and scored."""

    options: CompareOptions = COMPARE_DEFAULTS
    reading: ReadOptions = READ_DEFAULTS
    progress: Progress = silent
    _known: dict[str, list[Any]] = field(default_factory=dict, init=False, repr=False)

    def read(self, path: str | Path, kind: str) -> list[Any]:
        """Return all records of a file; a file with both versions is read, and its bad lines reported, only once."""
        name = str(path)
        if name not in self._known:
            if kind == "scores":
                self._known[name] = list(self.reading.read_beside([path], kind=kind))
            else:
                self._known[name] = list(self.reading.read(path, kind=kind))
        return self._known[name]


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions by name (`old`, `new`), the signature of each metric, the origin of the dialogues, and notes."""

    versions: Mapping[str, Version]
    judges: Mapping[str, Signature]
    origin: Mapping[str, str]
    notes: tuple[str, ...] = ()


def read_versions(files: Mapping[str, str | Path], reading: VersionReading) -> Versions:
    """Read one file per version, which may be a log of Inspect; files that cannot be compared are refused."""
    if "-" in map(str, files.values()):
        raise InputError("comparisons need files, not a pipe", hint="write both versions to files")
    with as_score_files(files, reading.reading.on_reject) as score_files:
        return _read_versions(score_files, reading)


def _read_versions(files: Mapping[str, str | Path], reading: VersionReading) -> Versions:
    kinds = {detect_kind(path) for path in files.values()}
    if len(kinds) > 1 or not kinds <= {"samples", "scores", "dialogues"}:
        raise InputError(
            f"cannot compare files of {' and '.join(sorted(kinds))}",
            hint="give two files of samples, two of dialogues, or two of scores",
        )
    (kind,) = kinds
    headers = {}
    for path in files.values():
        headers[str(path)] = dict(header(path))
        headers[str(path)].pop("bots", None)  # the two versions of a bot may have the same name
    origin = common_origin(headers)
    if reading.options.shared_references and kind != "samples":
        raise InputError(f"{kind} cannot be scored with shared references", hint="give two files of samples")
    if kind == "scores":
        versions, judges, notes = _from_scores(files, reading)
        return Versions(versions, judges, origin, notes)
    versions, judges, notes = _from_records(files, kind, reading)
    return Versions(versions, judges, origin, notes)


# ---- score files -----------------------------------------------------------------------------------------------------


def _from_scores(
    files: Mapping[str, str | Path], reading: VersionReading
) -> tuple[dict[str, Version], dict[str, Signature], tuple[str, ...]]:
    if len(reading.options.samples) > len(files):
        raise InputError(f"{len(reading.options.samples)} files of samples", hint="give one, or one per version")
    scores: dict[str, list[Score]] = {}
    systems: dict[str, str] = {}
    records: dict[str, list[Sample]] = {}
    scored_samples: dict[str, list[Sample]] = {}
    for i, (side, path) in enumerate(files.items()):
        wanted = _select_scores(reading.read(path, "scores"), reading.options.metrics)
        system = _choose_system({score.system for score in wanted}, side, path, reading)
        systems[side], scores[side] = system, [score for score in wanted if score.system == system]
        paths, records[side] = reading.options.samples, []
        if i < len(paths) or (paths and side in ("old", "new")):  # one file may hold both versions, but no repeats
            records[side] = reading.read(paths[min(i, len(paths) - 1)], "samples")
        scored_samples[side] = [sample for sample in records[side] if sample.system in ("", system)]
        ids = {sample.id for sample in scored_samples[side]}
        if ids and not any(score.id in ids for score in wanted):
            what = "its scores are of other samples: no id occurs in both files"
            raise InputError(what, hint="give the samples that were scored", where=str(path))
    rated_samples, notes = common_scale(scored_samples, reading.options.ratings)
    versions = {}
    for side, path in files.items():
        checked = ScoredSamples(rated_samples[side])
        side_scores = list(checked.check(scores[side], path))
        units = sample_units(side_scores, rated_samples[side], ratings=replace(reading.options.ratings, normalise=""))
        versions[side] = _make_version(systems[side] or Path(path).name, units, records[side], reading)
        notes += checked.notes()
    first, *others = versions.values()
    reads = references_read({metric: metric for metric in first.metrics})
    for other in others:
        notes += check_references(first, other, reads)
    return versions, _common_judges(files.values()), tuple(dict.fromkeys(notes))


def _common_judges(paths: Iterable[str | Path]) -> dict[str, Signature]:
    """Return the signatures of metrics that have one in all files; whether they agree is checked with the origin."""
    first, *others = [read_known_signatures(path) for path in paths]
    common = dict(first)
    for other in others:
        for metric in common.keys() - other.keys():
            del common[metric]
    return common


def _select_scores(scores: Sequence[Score], metrics: Sequence[str]) -> Sequence[Score]:
    """Return the scores of the named metrics, or all."""
    known = list(dict.fromkeys(score.metric for score in scores))
    wanted = {find(metric, known) for metric in metrics}
    if missing := sorted(wanted - set(known)):
        raise InputError(f"no scores of {missing[0]!r}", hint=f"choose one of: {', '.join(known)}")
    return [score for score in scores if not wanted or score.metric in wanted]


# ---- samples and dialogues -------------------------------------------------------------------------------------------


def _from_records(
    files: Mapping[str, str | Path], kind: str, reading: VersionReading
) -> tuple[dict[str, Version], dict[str, Signature], tuple[str, ...]]:
    systems: dict[str, str] = {}
    records: dict[str, list[Any]] = {}
    for side, path in files.items():
        every = reading.read(path, kind)
        systems[side] = _choose_system(_systems(every), side, path, reading)
        records[side] = list(_records_of(every, systems[side]))
    records, rater_notes = common_scale(records, reading.options.ratings)
    judged: dict[str, list[Sample]] = {}
    dialogues: dict[str, list[Sample]] = {}  # whole, for metrics that score those
    for side, system in systems.items():
        judged[side], dialogues[side] = records[side], []
        if kind == "dialogues":
            targets = [system] if system else []
            judged[side] = list(samples(records[side], targets=targets))
            dialogues[side] = list(whole_dialogues(records[side], targets=targets))
    metrics = reading.options.scoring_metrics
    if not metrics:
        replies = list(chain.from_iterable(judged.values()))
        metrics = [require_judge(replies, f"compare {kind}", of_dialogues=kind == "dialogues")]
    chosen, _ = choose(metrics, trust=reading.options.trust)
    if reading.options.shared_references:
        judged, reference_notes = share_references(judged)
    else:
        reads = references_read({choice.name: choice.metric for choice in chosen})
        reference_notes = check_sample_references(judged, reads)
    scores, judges, notes = score_all(judged, chosen, reading.progress, whole=dialogues)
    versions = {}
    for side, path in files.items():
        ratings = replace(reading.options.ratings, normalise="")
        if kind == "dialogues":
            units = dialogue_units(scores[side], records[side], ratings=ratings)
        else:
            units = sample_units(scores[side], judged[side], ratings=ratings)
        version = _make_version(systems[side] or Path(path).name, units, records[side], reading)
        versions[side] = replace(version, unit="dialogue") if kind == "dialogues" else version
    return versions, judges, (*reference_notes, *rater_notes, *notes)


def score_all(
    judged: Mapping[str, Sequence[Sample]],
    chosen: Sequence[Chosen],
    progress: Progress = silent,
    *,
    whole: Mapping[str, Sequence[Sample]] | None = None,
) -> tuple[dict[str, list[Score]], dict[str, Signature], tuple[str, ...]]:
    """Return scores, signatures and notes of several sets; constants of metrics are fitted to all sets together.

    `whole` has the dialogues of each set, for metrics that score whole dialogues.
    """
    systems: dict[tuple[str, str], str] = {}

    def score_pool(some: Sequence[Metric], of_dialogues: bool) -> list[dict[str, Result]]:
        pool = []
        for side, side_samples in (whole if of_dialogues and whole else judged).items():
            for sample in side_samples:
                systems[side, sample.id] = sample.system
                pool.append(replace(sample, system=side))
        return evaluate_all(some, pool, n_bootstrap=0, progress=step)

    with progress("scoring", None) as step:
        results = evaluate_by_unit([choice.metric for choice in chosen], score_pool)
    scores: dict[str, list[Score]] = {side: [] for side in judged}
    judges: dict[str, Signature] = {}
    notes: dict[str, None] = {}
    for choice, by_system in zip(chosen, results, strict=True):
        result = by_system[""]
        judges[choice.name] = result.signature
        notes.update(dict.fromkeys(note.text for note in result.notes))
        for score in result.scores(choice.name):
            scores[score.system].append(replace(score, system=systems[score.system, score.id]))
    return scores, judges, tuple(notes)


def _make_version(name: str, units: Sequence[Unit], records: Iterable[Any], reading: VersionReading) -> Version:
    """Return a version with the aspects and roles of its ratings; its units are dialogues if any was played."""
    aspects, roles = set(), set()
    for record in records:
        for rating in record.ratings:
            aspects.add(rating.aspect)
            roles.add(rating.role)
    other_aspects = sorted(aspects - {reading.options.ratings.aspect or "overall"})
    played = any("occasion" in unit.keys for unit in units)
    return Version(name, "dialogue" if played else "sample", tuple(units), tuple(other_aspects), frozenset(roles))


def _systems(records: Iterable[Sample | Dialogue]) -> set[str]:
    """Return the judged systems of records; a dialogue that names none has the system `""`."""
    systems: set[str] = set()
    for record in records:
        if isinstance(record, Dialogue):
            systems |= find_judged_systems(record) or {""}
        else:
            systems.add(record.system)
    return systems


def _records_of(records: Iterable[Any], system: str) -> Iterator[Any]:
    """Yield the records of a system; dialogues without the ratings of its partners."""
    for record in records:
        if system not in _systems([record]):
            continue
        if isinstance(record, Dialogue) and record.ratings:
            record = replace(record, ratings=tuple(system_ratings(record, system)))
        yield record


def _choose_system(known: Collection[str], side: str, path: str | Path, reading: VersionReading) -> str:
    """Return the system of a version: the given one, or the only one of its file."""
    wanted = reading.options.system(side)
    names = ", ".join(sorted(name or "(none)" for name in known))
    if wanted and wanted not in known:
        raise InputError(f"no system {wanted!r}", hint=f"systems: {names}", where=str(path))
    if not wanted and len(known) > 1:
        raise InputError(f"{len(known)} systems: {names}", hint=f"choose one: --{side}-system NAME", where=str(path))
    return wanted or next(iter(known), "")

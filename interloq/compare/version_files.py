# SPDX-License-Identifier: Apache-2.0
"""Read versions of a system from files of samples, dialogues or scores; samples and dialogues are scored here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from interloq.agree.table import UnitKind
from interloq.compare.compare_options import COMPARE_DEFAULTS, CompareOptions
from interloq.compare.compared_references import (
    check_references,
    check_sample_references,
    references_read,
    share_references,
)
from interloq.compare.version_ratings import common_scale
from interloq.compare.version_units import dialogue_units, sample_units
from interloq.compare.versions import Version
from interloq.data.progress import Progress, silent
from interloq.data.records.convert_file import kind_held
from interloq.data.records.jsonl import Rejected, header, read
from interloq.errors import InputError
from interloq.metrics.metric_names import find
from interloq.play.dialogue_origin import common_origin
from interloq.play.samples import judged_in, samples, system_ratings, whole_dialogues
from interloq.records import Dialogue, Sample, Score
from interloq.score.evaluate import evaluate_all, evaluate_by_unit
from interloq.score.parse_metrics import Chosen, choose
from interloq.score.scored_samples import ScoredSamples
from interloq.score.signatures import known_signatures
from interloq.signature import Signature


@dataclass(frozen=True, slots=True)
class VersionReading:
    """How files of versions are read and scored."""

    options: CompareOptions = COMPARE_DEFAULTS
    strict: bool = False
    on_reject: Callable[[Rejected], None] | None = None
    progress: Progress = silent
    _known: dict[str, list[Any]] = field(default_factory=dict, init=False, repr=False)

    def read(self, path: str | Path, kind: str) -> list[Any]:
        """All records of a file; a file that has both versions is read, and its bad lines reported, once."""
        columns = self.options.columns if kind != "scores" else None
        if str(path) not in self._known:
            records = read(path, kind=kind, strict=self.strict, on_reject=self.on_reject, columns=columns)
            self._known[str(path)] = list(records)
        return self._known[str(path)]


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions by name (`old`, `new`), the signature of each metric, the origin of the dialogues, and notes."""

    versions: Mapping[str, Version]
    judges: Mapping[str, Signature]
    origin: Mapping[str, str]
    notes: tuple[str, ...] = ()


def read_versions(files: Mapping[str, str | Path], reading: VersionReading) -> Versions:
    """Read one file per version; files that cannot be compared are refused."""
    if "-" in map(str, files.values()):
        raise InputError("comparisons need files, not a pipe", hint="write both versions to files")
    kinds = {kind_held(path) for path in files.values()}
    if len(kinds) > 1 or not kinds <= {"samples", "scores", "dialogues"}:
        raise InputError(
            f"cannot compare files of {' and '.join(sorted(kinds))}",
            hint="give two files of samples, two of dialogues, or two of scores",
        )
    (kind,) = kinds
    # the two versions of a bot may have the same name
    headers = {str(path): {k: v for k, v in header(path).items() if k != "bots"} for path in files.values()}
    origin = common_origin(headers)
    if reading.options.shared_references and kind != "samples":
        raise InputError(f"{kind} cannot be scored with shared references", hint="give two files of samples")
    if kind == "scores":
        versions, judges, notes = _from_scores(files, reading)
        return Versions(versions, judges, origin, notes)
    if not reading.options.scoring_metrics:
        raise InputError(f"no metric to compare {kind} by", hint="name one: -m \"relevance(model='ready')\"")
    versions, judges, notes = _from_records(files, kind, reading)
    return Versions(versions, judges, origin, notes)


# ---- score files -----------------------------------------------------------------------------------------------------


def _from_scores(
    files: Mapping[str, str | Path], reading: VersionReading
) -> tuple[dict[str, Version], dict[str, Signature], tuple[str, ...]]:
    if len(reading.options.samples) > len(files):
        raise InputError(f"{len(reading.options.samples)} files of samples", hint="give one, or one per version")
    versions = {}
    scores = {side: _wanted(reading.read(path, "scores"), reading.options.metrics) for side, path in files.items()}
    systems = {
        side: _one_system({score.system for score in own}, side, files[side], reading) for side, own in scores.items()
    }
    known = {side: _records(reading, i, side) for i, side in enumerate(files)}
    scored = {side: [s for s in own if s.system in ("", systems[side])] for side, own in known.items()}
    rated, notes = common_scale(scored, reading.options.ratings)
    for side, path in files.items():
        system, records = systems[side], known[side]
        _check_joined(scores[side], rated[side], path)
        checked = ScoredSamples(rated[side])
        units = sample_units(
            list(checked.check((score for score in scores[side] if score.system == system), path)),
            rated[side],
            ratings=replace(reading.options.ratings, normalise=""),
        )
        played = any("occasion" in unit.keys for unit in units)
        noun: UnitKind = "dialogue" if played else "sample"
        versions[side] = Version(
            system or Path(path).name, noun, tuple(units), _other_aspects(records, reading), _roles(records)
        )
        notes += checked.notes()
    first, *others = versions.values()
    reads = references_read({metric: metric for metric in first.metrics})
    for other in others:
        notes += check_references(first, other, reads)
    return versions, _common_judges(files.values()), tuple(dict.fromkeys(notes))


def _check_joined(scores: Iterable[Score], samples: Sequence[Sample], path: str | Path) -> None:
    """Refuse samples of which none was scored: they would add nothing, without a word."""
    ids = {sample.id for sample in samples}
    if ids and not any(score.id in ids for score in scores):
        what = "its scores are of other samples: no id occurs in both files"
        raise InputError(what, hint="give the samples that were scored", where=str(path))


def _common_judges(paths: Iterable[str | Path]) -> dict[str, Signature]:
    """Signatures of the metrics that have one in all files; that they agree is checked with the origin."""
    found = [known_signatures(path) for path in paths]
    return {metric: judge for metric, judge in found[0].items() if all(metric in other for other in found)}


def _wanted(scores: Sequence[Score], metrics: Sequence[str]) -> Sequence[Score]:
    """Scores of the named metrics, or all."""
    known = list(dict.fromkeys(score.metric for score in scores))
    wanted = {find(metric, known) for metric in metrics}
    if missing := sorted(wanted - set(known)):
        raise InputError(f"no scores of {missing[0]!r}", hint=f"choose one of: {', '.join(known)}")
    return [score for score in scores if not wanted or score.metric in wanted]


def _records(reading: VersionReading, i: int, side: str) -> list[Sample]:
    """The samples of the i-th score file; one file may hold both versions, but no repeats."""
    paths = reading.options.samples
    if not paths or (i >= len(paths) and side not in ("old", "new")):
        return []
    return reading.read(paths[min(i, len(paths) - 1)], "samples")


# ---- samples and dialogues -------------------------------------------------------------------------------------------


def _from_records(
    files: Mapping[str, str | Path], kind: str, reading: VersionReading
) -> tuple[dict[str, Version], dict[str, Signature], tuple[str, ...]]:
    whole = {side: reading.read(path, kind) for side, path in files.items()}
    systems = {side: _one_system(_systems(whole[side]), side, files[side], reading) for side in files}
    records = {side: list(_records_of(whole[side], systems[side])) for side in files}
    records, rater_notes = common_scale(records, reading.options.ratings)
    judged = {side: list(_judged(records[side], systems[side])) for side in files}
    dialogues = {side: list(_whole(records[side], systems[side])) for side in files}
    chosen, _ = choose(reading.options.scoring_metrics, trust=reading.options.trust)
    judged, reference_notes = _with_comparable_references(judged, chosen, reading.options)
    scores, judges, notes = score_all(judged, chosen, reading.progress, whole=dialogues)
    versions = {}
    for side, path in files.items():
        name, ratings = systems[side] or Path(path).name, replace(reading.options.ratings, normalise="")
        if kind == "dialogues":
            units = dialogue_units(scores[side], records[side], ratings=ratings)
        else:
            units = sample_units(scores[side], judged[side], ratings=ratings)
        played = kind == "dialogues" or any("occasion" in unit.keys for unit in units)
        noun: UnitKind = "dialogue" if played else "sample"
        versions[side] = Version(
            name, noun, tuple(units), _other_aspects(records[side], reading), _roles(records[side])
        )
    return versions, judges, (*reference_notes, *rater_notes, *notes)


def _with_comparable_references(
    judged: dict[str, list[Sample]], chosen: Sequence[Chosen], options: CompareOptions
) -> tuple[dict[str, list[Sample]], list[str]]:
    """The samples, and notes; versions with different references are refused, or reduced to those they share."""
    if options.shared_references:
        return share_references(judged)
    return judged, check_sample_references(judged, references_read({one.name: one.metric for one in chosen}))


def score_all(
    judged: Mapping[str, Sequence[Sample]],
    chosen: Sequence[Chosen],
    progress: Progress = silent,
    *,
    whole: Mapping[str, Sequence[Sample]] | None = None,
) -> tuple[dict[str, list[Score]], dict[str, Signature], tuple[str, ...]]:
    """Scores, signatures and notes of several sets; constants of metrics are fitted to all sets together.

    `whole` has the dialogues of each set, for metrics that score whole dialogues.
    """
    systems: dict[tuple[str, str], str] = {}

    def pool(sets: Mapping[str, Sequence[Sample]]) -> list[Sample]:
        systems.update({(side, sample.id): sample.system for side, own in sets.items() for sample in own})
        return [replace(sample, system=side) for side, own in sets.items() for sample in own]

    with progress("scoring", None) as step:
        results = evaluate_by_unit(
            [one.metric for one in chosen],
            lambda some, of_dialogues: evaluate_all(
                some, pool(whole if of_dialogues and whole else judged), n_bootstrap=0, progress=step
            ),
        )
    found: dict[str, list[Score]] = {side: [] for side in judged}
    for one, by_system in zip(chosen, results, strict=True):
        for score in by_system[""].scores(one.name):
            found[score.system].append(replace(score, system=systems[score.system, score.id]))
    judges = {one.name: r[""].signature for one, r in zip(chosen, results, strict=True)}
    return found, judges, tuple(dict.fromkeys(note.text for r in results for note in r[""].notes))


def _other_aspects(records: Iterable[Sample | Dialogue], reading: VersionReading) -> tuple[str, ...]:
    """Rated aspects other than the one used."""
    found = {rating.aspect for record in records for rating in record.ratings}
    return tuple(sorted(found - {reading.options.ratings.aspect or "overall"}))


def _roles(records: Iterable[Sample | Dialogue]) -> frozenset[str]:
    return frozenset(rating.role for record in records for rating in record.ratings)


def _systems(records: Iterable[Sample | Dialogue]) -> set[str]:
    """The judged systems of records; a dialogue that names none has the system `""`."""
    found: set[str] = set()
    for record in records:
        found |= (judged_in(record) or {""}) if isinstance(record, Dialogue) else {record.system}
    return found


def _records_of(records: Iterable[Any], system: str) -> Iterator[Any]:
    """Records of a system; dialogues without the ratings of its partners."""
    for record in records:
        if system not in _systems([record]):
            continue
        if isinstance(record, Dialogue) and record.ratings:
            record = replace(record, ratings=tuple(system_ratings(record, system)))
        yield record


def _judged(records: Sequence[Any], system: str) -> Iterable[Sample]:
    if records and isinstance(records[0], Dialogue):
        return samples(records, targets=[system] if system else [])
    return records


def _whole(records: Sequence[Any], system: str) -> Iterable[Sample]:
    """The dialogues as samples for metrics of whole dialogues; none if the records are samples."""
    if records and isinstance(records[0], Dialogue):
        return whole_dialogues(records, targets=[system] if system else [])
    return ()


def _one_system(known: Collection[str], side: str, path: str | Path, reading: VersionReading) -> str:
    """The system of a version: the given one, or the only one of its file."""
    wanted = reading.options.system(side)
    names = ", ".join(sorted(name or "(none)" for name in known))
    if wanted and wanted not in known:
        raise InputError(f"no system {wanted!r}", hint=f"systems: {names}", where=str(path))
    if not wanted and len(known) > 1:
        raise InputError(f"{len(known)} systems: {names}", hint=f"choose one: --{side}-system NAME", where=str(path))
    return wanted or next(iter(known), "")

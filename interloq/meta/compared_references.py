# SPDX-License-Identifier: Apache-2.0
"""Whether two versions were scored with the same references: more references alone raise most scores.

Units that are paired by id or context must have the same references (texts and weights), if a metric reads them.
Otherwise the versions are refused, or both are scored with the references that they share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from interloq.errors import InputError, count
from interloq.meta.version_units import sample_unit
from interloq.meta.versions import Matched, Unit, Version, matched
from interloq.metrics.sample_fingerprint import read_print, sample_print
from interloq.metrics.traits import reads_references
from interloq.records import Reference, Sample

SHARE = "give both versions the same references, or score both with those they share: --shared-references"
AGAIN = "score both versions with the same references, or compare their samples with --shared-references"
UNKNOWN = "it is unknown whether both versions were scored with the same references"


def check_references(
    old: Version, new: Version, metrics: Mapping[str, bool | None], *, hint: str = AGAIN, names: str = "the versions"
) -> list[str]:
    """Refuse units of a pair with different references; return notes on what cannot be checked.

    `metrics` says of each metric whether it reads references, None if that is unknown.
    """
    reading = [metric for metric, reads in metrics.items() if reads is not False]
    pairs = list(_comparable(matched(old, new)))
    differing = [pair for pair in pairs if _differ(*pair)]
    if not reading or not pairs:
        return []
    if differing:
        where = f"{len(differing):,} of {count(len(pairs), f'paired {new.unit}')}, for example {differing[0][1].id!r}"
        what = f"{names} have different references in {where}"
        if certain := [metric for metric in reading if metrics[metric]]:
            raise InputError(f"{what}, so {certain[0]} is not comparable", hint=hint)
        return [f"{what}: if {reading[0]} reads them, its scores are not comparable"]
    if any(metrics.values()) and any(not unit.sample for pair in pairs for unit in pair):
        return [f"{UNKNOWN}: scores by earlier versions or other tools do not say it"]
    return []


def check_sample_references(samples: Mapping[str, Sequence[Sample]], metrics: Mapping[str, bool | None]) -> list[str]:
    """Do the same for the samples of several versions (name → samples) before they are scored."""
    first, *others = (_unscored_version(name, own) for name, own in samples.items())
    notes = [note for other in others for note in check_references(first, other, metrics, hint=SHARE)]
    return list(dict.fromkeys(notes))


def share_references(samples: Mapping[str, Sequence[Sample]]) -> tuple[dict[str, list[Sample]], list[str]]:
    """Reduce the references of paired samples of several versions to those that all share; and return notes."""
    names = list(samples)
    by_id = {name: {sample.id: sample for sample in own} for name, own in samples.items()}
    first = _unscored_version(names[0], samples[names[0]])
    partners: dict[str, dict[str, str]] = {}  # id in the first version → version → id of the partner there
    for name in names[1:]:
        for one, other in _comparable(matched(first, _unscored_version(name, samples[name]))):
            partners.setdefault(one.id, {names[0]: one.id})[name] = other.id
    changed = 0
    for ids in partners.values():
        shared = _shared([by_id[name][id].references for name, id in ids.items()])
        changed += any(len(by_id[name][id].references) > len(shared) for name, id in ids.items())
        for name, id in ids.items():
            sample = by_id[name][id]
            by_id[name][id] = replace(sample, references=tuple(r for r in sample.references if _content(r) in shared))
    scored = f"{changed:,} of {count(len(partners), 'paired sample')} scored with fewer references"
    return {name: list(own.values()) for name, own in by_id.items()}, [
        f"references: only those that both versions share; {scored}"
    ]


def references_read(metrics: Mapping[str, object]) -> dict[str, bool | None]:
    """Return for each metric (name → metric or spec) whether it reads references; None if that is unknown."""
    return {name: reads_references(metric) for name, metric in metrics.items()}


def _unscored_version(name: str, samples: Sequence[Sample]) -> Version:
    units = (replace(sample_unit(s.id, s, s.dialogue), sample=str(sample_print(s))) for s in samples)
    return Version(name, "sample", tuple(units))


def _comparable(units: Matched) -> Iterator[tuple[Unit, Unit]]:
    """Pairs of replies; dialogues on one occasion have turns, and thus references, of their own."""
    return iter(units.pairs if units.pairing in ("id", "context") else ())


def _differ(old: Unit, new: Unit) -> bool:
    """Whether a pair was scored with different references; without any, a unit is unscored and its pair not used."""
    first, second = (read_print(unit.sample).references for unit in (old, new))
    return bool(first and second) and first != second


def _shared(references: Sequence[Sequence[Reference]]) -> set[tuple[str, float]]:
    first, *others = ({_content(reference) for reference in own} for own in references)
    return first.intersection(*others)


def _content(reference: Reference) -> tuple[str, float]:
    return " ".join(reference.text.split()), reference.weight

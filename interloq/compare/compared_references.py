# SPDX-License-Identifier: Apache-2.0
"""Whether two versions were scored with the same references: more references alone raise most scores.

Units that are paired by id or context must have the same references (texts and weights), if a metric reads them.
Otherwise the versions are refused, or both are scored with the references that they share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from interloq.compare.match_versions import Matched, Unit, Version, match_units
from interloq.compare.version_units import sample_unit
from interloq.data.records.sample_fingerprint import read_print, sample_print
from interloq.errors import InputError, count
from interloq.metrics.metric import MetricLike
from interloq.metrics.traits import reads_references
from interloq.records import Reference, Sample

SHARE = "give both versions the same references, or score both with those they share: --shared-references"
AGAIN = "score both versions with the same references, or compare their samples with --shared-references"
UNKNOWN = "it is unknown whether both versions were scored with the same references"


def check_references(
    old: Version, new: Version, metrics: Mapping[str, bool | None], *, hint: str = AGAIN, names: str = "the versions"
) -> list[str]:
    """Refuse units of a pair with different references; return notes on what cannot be checked.

    `metrics` maps each metric to whether it reads references, or to None if that is unknown.
    """
    reading = [metric for metric, reads in metrics.items() if reads is not False]
    pairs = _comparable_pairs(match_units(old, new))
    if not reading or not pairs:
        return []
    differing_ids, unknown = [], False
    for old_unit, new_unit in pairs:
        unknown = unknown or not old_unit.sample or not new_unit.sample
        old_references, new_references = read_print(old_unit.sample).references, read_print(new_unit.sample).references
        if old_references and new_references and old_references != new_references:  # without any, a unit is unscored
            differing_ids.append(new_unit.id)
    if differing_ids:
        where = f"{len(differing_ids):,} of {count(len(pairs), f'paired {new.unit}')}, for example {differing_ids[0]!r}"
        what = f"{names} have different references in {where}"
        for metric in reading:
            if metrics[metric]:
                raise InputError(f"{what}, so {metric} is not comparable", hint=hint)
        return [f"{what}: if {reading[0]} reads them, its scores are not comparable"]
    if unknown and any(metrics.values()):
        return [f"{UNKNOWN}: scores by earlier versions or other tools do not say it"]
    return []


def check_sample_references(samples: Mapping[str, Sequence[Sample]], metrics: Mapping[str, bool | None]) -> list[str]:
    """Check the references of samples of several versions (name → samples) before they are scored."""
    first, *others = (_make_unscored_version(name, version_samples) for name, version_samples in samples.items())
    notes: dict[str, None] = {}
    for other in others:
        notes.update(dict.fromkeys(check_references(first, other, metrics, hint=SHARE)))
    return list(notes)


def share_references(samples: Mapping[str, Sequence[Sample]]) -> tuple[dict[str, list[Sample]], list[str]]:
    """Reduce the references of paired samples of several versions to those that all share, and return notes."""
    by_id: dict[str, dict[str, Sample]] = {}  # version → id → sample
    for name, version_samples in samples.items():
        by_id[name] = {sample.id: sample for sample in version_samples}
    first_name, *other_names = samples
    first = _make_unscored_version(first_name, samples[first_name])
    partners: dict[str, dict[str, str]] = {}  # id in the first version → version → id of the partner there
    for name in other_names:
        for unit, partner in _comparable_pairs(match_units(first, _make_unscored_version(name, samples[name]))):
            partners.setdefault(unit.id, {first_name: unit.id})[name] = partner.id
    changed = 0
    for ids in partners.values():
        paired = {name: by_id[name][id] for name, id in ids.items()}
        shared = set.intersection(*(set(map(_content, sample.references)) for sample in paired.values()))
        has_more = False
        for name, sample in paired.items():
            has_more = has_more or len(sample.references) > len(shared)
            references = tuple(reference for reference in sample.references if _content(reference) in shared)
            by_id[name][sample.id] = replace(sample, references=references)
        changed += has_more
    scored = f"{changed:,} of {count(len(partners), 'paired sample')} scored with fewer references"
    reduced = {name: list(version_samples.values()) for name, version_samples in by_id.items()}
    return reduced, [f"references: only those that both versions share; {scored}"]


def references_read(metrics: Mapping[str, MetricLike | str]) -> dict[str, bool | None]:
    """Return for each metric (name → metric or spec) whether it reads references; None if that is unknown."""
    return {name: reads_references(metric) for name, metric in metrics.items()}


def _make_unscored_version(name: str, samples: Sequence[Sample]) -> Version:
    units = []
    for sample in samples:
        unit = sample_unit(sample.id, sample, sample.dialogue)
        units.append(replace(unit, sample=str(sample_print(sample))))
    return Version(name, "sample", tuple(units))


def _comparable_pairs(units: Matched) -> Sequence[tuple[Unit, Unit]]:
    """Return pairs of replies only: two dialogues on one occasion have different turns, so different references."""
    if units.pairing in ("id", "context"):
        return units.pairs
    return ()


def _content(reference: Reference) -> tuple[str, float]:
    return " ".join(reference.text.split()), reference.weight

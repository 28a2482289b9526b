# SPDX-License-Identifier: Apache-2.0
"""Filters of the samples by their fields: topic, language, partner, length of the prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from interloq.meta.slices import slice_values, thirds_of
from interloq.meta.version_units import sample_unit
from interloq.records import Key, Sample

MOST = 50  # values to choose from
OTHER = "(other)"


@dataclass(frozen=True, slots=True)
class Filter:
    """A field, its values, and the number of each sample's value; None for samples without one."""

    name: str
    values: tuple[str, ...]
    number_of: Mapping[Key, int | None]


def filters(samples: Sequence[Sample], names: Sequence[str] | None) -> tuple[Filter, ...]:
    """A filter for each field that has several values; by default the fields that `interloq compare` slices by."""
    units = [sample_unit(sample.id, sample) for sample in samples]
    found = slice_values(units, names, thirds_of(units)) if units else ()
    return tuple(_filter(name, [s.key for s in samples], values) for name, values in found if _several(values))


def _several(values: Sequence[str]) -> bool:
    return len(set(values) - {""}) > 1


def _filter(name: str, keys: Sequence[Key], values: Sequence[str]) -> Filter:
    sizes = Counter(filter(None, values))
    kept = sorted(value for value, _ in sizes.most_common(MOST))
    shown = (*kept, *([OTHER] if len(sizes) > MOST else []))
    number = {value: i for i, value in enumerate(shown)}
    numbers = (number.get(value, number.get(OTHER)) if value else None for value in values)
    return Filter(name, shown, dict(zip(keys, numbers, strict=True)))

# SPDX-License-Identifier: Apache-2.0
"""Filters of the samples by their fields: topic, language, partner, length of the prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from interloq.compare.slices import slice_values, thirds_of
from interloq.compare.version_units import sample_unit
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
    """Return a filter per field with several values; by default of the fields that `interloq compare` slices by."""
    if not samples:
        return ()
    units = [sample_unit(sample.id, sample) for sample in samples]
    keys = [sample.key for sample in samples]
    offered = []
    for name, values in slice_values(units, names, thirds_of(units)):
        if len(set(values) - {""}) > 1:
            offered.append(_filter(name, keys, values))
    return tuple(offered)


def _filter(name: str, keys: Sequence[Key], values: Sequence[str]) -> Filter:
    sizes = Counter(filter(None, values))
    shown = sorted(value for value, _ in sizes.most_common(MOST))
    if len(sizes) > MOST:
        shown.append(OTHER)
    number = {value: i for i, value in enumerate(shown)}
    number_of: dict[Key, int | None] = {}
    for key, value in zip(keys, values, strict=True):
        number_of[key] = number.get(value, number.get(OTHER)) if value else None
    return Filter(name, tuple(shown), number_of)

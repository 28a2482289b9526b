# SPDX-License-Identifier: Apache-2.0
"""The sample table: its rows, from which the plots also take the texts of their points, and filters by fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from interloq.compare.slices import slice_values, thirds_of
from interloq.compare.version_units import sample_unit
from interloq.records import NO_SYSTEM, Key, Sample
from interloq.report import text
from interloq.signature import fingerprint

MOST = 10_000  # rows in the page
WHOLE = 2000  # with more samples, only those drawn in plots have their last turn and a long reply
LAST, REPLY, SHORT = 160, 240, 60  # characters
MOST_VALUES = 50  # values of a field to choose from
OTHER = "(other)"
# id, system, last turn, reply, mean judgment, one score per metric, number of its context, one value per filter
SampleRow = tuple[str | float | None, ...]


def list_samples(samples: Sequence[Sample], drawn: Collection[Key]) -> list[Sample]:
    """Return the samples of the table: all, or those in the plots and others chosen by a hash of their ids."""
    if len(samples) <= MOST:
        return list(samples)
    order = sorted(samples, key=lambda s: (s.key not in drawn, fingerprint(*filter(None, s.key))))
    return sorted(order[:MOST], key=lambda s: s.key)


@dataclass(frozen=True, slots=True)
class Filter:
    """A field, its values, and the number of each sample's value; None for samples without a value."""

    name: str
    values: tuple[str, ...]
    number_of: Mapping[Key, int | None]


def sample_filters(samples: Sequence[Sample], names: Sequence[str] | None) -> tuple[Filter, ...]:
    """Return a filter per field with several values; by default, for the fields that `interloq compare` slices by."""
    if not samples:
        return ()
    units = [sample_unit(sample.id, sample) for sample in samples]
    keys = [sample.key for sample in samples]
    offered = []
    for name, values in slice_values(units, names, thirds_of(units)):
        if len(set(values) - {""}) > 1:
            sizes = Counter(filter(None, values))
            shown = sorted(value for value, _ in sizes.most_common(MOST_VALUES))
            if len(sizes) > MOST_VALUES:
                shown.append(OTHER)
            number = {value: i for i, value in enumerate(shown)}
            number_of: dict[Key, int | None] = {}
            for key, value in zip(keys, values, strict=True):
                number_of[key] = number.get(value, number.get(OTHER)) if value else None
            offered.append(Filter(name, tuple(shown), number_of))
    return tuple(offered)


class Places:
    """The context of each sample, as a number if several samples have it, and its values in filters."""

    def __init__(self, contexts: Mapping[Key, str], filters: Sequence[Filter]) -> None:
        self.contexts, self.filters = contexts, tuple(filters)
        repeated = (name for name, n in Counter(contexts.values()).items() if n > 1)
        self._numbers = {name: i for i, name in enumerate(repeated)}

    def of(self, key: Key) -> tuple[int | None, ...]:
        """Return the numbers of the context and of the value in each filter; None if there is none."""
        return self._numbers.get(self.contexts[key]), *(each.number_of[key] for each in self.filters)


def sample_row(sample: Sample, columns: Iterable[Mapping[Key, float]], places: Places, *, is_whole: bool) -> SampleRow:
    """Return id, system, last turn, reply, values of the columns (judgments first) and places.

    The texts are truncated, and shorter still if not `is_whole`.
    """
    last, reply = "", text.cut(sample.response, SHORT)
    if is_whole:
        reply = text.cut(sample.response, REPLY)
        if sample.context:
            last = text.cut(sample.context[-1].text, LAST)
    values = [_short(column.get(sample.key)) for column in columns]
    return (sample.id, sample.system or NO_SYSTEM, last, reply, *values, *places.of(sample.key))


def _short(value: float | None) -> float | None:
    if value is None:
        return None
    short = float(f"{value:.3g}")
    return short if isfinite(short) else value  # the largest numbers would be rounded to infinity


def sample_note(listed: int, samples: int) -> str:
    """Return what the table omits; empty if it omits nothing."""
    notes = []
    if listed < samples:
        notes.append(f"{listed:,} of {samples:,} samples are listed, chosen by a hash of their ids.")
    if listed > WHOLE:
        notes.append(
            f"Samples that are not drawn in a plot have only the first {SHORT} characters of their reply here."
        )
    return " ".join(notes)

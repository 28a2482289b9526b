# SPDX-License-Identifier: Apache-2.0
"""Slices of a test set: groups of units by topic, language, partner or length of their prompts.

A slice is a property of the prompt, never of the reply: slices of replies would differ between two versions. `language`
is read from the records or else detected (`data/text/language.py`), and `length` splits prompts into thirds by their
characters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from interloq.compare.match_versions import Unit
from interloq.data.text.language import language_name, languages_of
from interloq.errors import InputError, count, nearest

NAMES = ("topic", "language", "partner", "length")
LEAST = 10  # units of a slice that is tested
MOST = 20  # values of one field that are tested
SHOWN_NAMES = {"length": "prompt length"}  # "length" alone could mean the length of the reply
LENGTHS = ("short", "medium", "long")

Masks = Mapping[str, NDArray[np.bool_]]  # "topic: food" → its units


def slices(units: Sequence[Unit], names: Sequence[str] | None, thirds: tuple[float, float]) -> tuple[Masks, list[str]]:
    """Slice units by these fields (default: those that the units have); also return notes on slices that are too small.

    `thirds` are the lengths that separate short, medium and long prompts; see `thirds_of`.
    """
    masks: dict[str, NDArray[np.bool_]] = {}
    notes = []
    for shown, values in slice_values(units, names, thirds):
        sizes = Counter(filter(None, values))
        if len(sizes) < 2:
            continue
        large = [value for value, n in sizes.most_common(MOST) if n >= LEAST]
        unit_values = np.array(values, dtype=object)
        for value in sorted(large):
            masks[f"{shown}: {value}"] = unit_values == value
        if len(large) < len(sizes):
            small = count(len(sizes) - len(large), "value")
            notes.append(f"{small} of {shown} not tested: fewer than {LEAST} units, or not among the {MOST} largest")
    return masks, notes


def slice_values(
    units: Sequence[Unit], names: Sequence[str] | None, thirds: tuple[float, float]
) -> Iterator[tuple[str, list[str]]]:
    """Yield each field with the value of each unit, empty if it has none; refuse a named field that no unit has."""
    chosen: Sequence[str] = NAMES
    if names is not None:
        chosen = names
    for name in chosen:
        values = [_value(unit, name, thirds) for unit in units]
        if name == "language":
            detected = languages_of([unit.prompt for unit in units])
            values = [value or language_name(language) for value, language in zip(values, detected, strict=True)]
        if names is not None and not any(values):
            known = {"language", "length"}.union(*(unit.fields for unit in units))
            raise InputError(f"no record has a field {name!r} to slice by{nearest(name, known)}")
        yield SHOWN_NAMES.get(name, name), values


def thirds_of(units: Iterable[Unit]) -> tuple[float, float]:
    """Return the lengths of prompts, in characters, that split them into thirds."""
    lengths = [len(unit.prompt) for unit in units if unit.prompt]
    if not lengths:
        return 0.0, 0.0
    low, high = np.quantile(lengths, [1 / 3, 2 / 3])
    return float(low), float(high)


def _value(unit: Unit, name: str, thirds: tuple[float, float]) -> str:
    """Return the group of a unit; empty if it has none."""
    if name in unit.fields or not unit.prompt:
        return unit.fields.get(name, "")
    if name == "length":
        return LENGTHS[np.searchsorted(thirds, len(unit.prompt))]
    return ""

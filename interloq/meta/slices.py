# SPDX-License-Identifier: Apache-2.0
"""Slices of a test set: groups of units by topic, language, partner or length of their prompts.

A slice is a property of the prompt, never of the reply: slices of replies would differ between two versions. `language`
is read from the records or else detected (`data/language.py`), and `length` splits prompts into thirds by their
characters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from interloq.data.language import language_name, languages_of
from interloq.errors import InputError, count, nearest
from interloq.meta.versions import Unit

NAMES = ("topic", "language", "partner", "length")
LEAST = 10  # units of a slice that is tested
MOST = 20  # values of one field that are tested
SHOWN_NAMES = {"length": "prompt length"}  # "length" alone could be that of the reply
LENGTHS = ("short", "medium", "long")

Masks = Mapping[str, NDArray[np.bool_]]  # "topic: food" → its units


def slices(units: Sequence[Unit], names: Sequence[str] | None, thirds: tuple[float, float]) -> tuple[Masks, list[str]]:
    """Slices of units by these fields (default: those that the units have), and notes on those that are too small.

    `thirds` are the lengths that separate short, medium and long prompts; see `thirds_of`.
    """
    masks: dict[str, NDArray[np.bool_]] = {}
    notes = []
    for shown, values in slice_values(units, names, thirds):
        sizes = Counter(filter(None, values))
        kept = [value for value, n in sizes.most_common(MOST) if n >= LEAST]
        if len(sizes) > 1:
            masks |= {f"{shown}: {value}": np.array([v == value for v in values]) for value in sorted(kept)}
        if len(sizes) > 1 and len(kept) < len(sizes):
            small = count(len(sizes) - len(kept), "value")
            notes.append(f"{small} of {shown} not tested: fewer than {LEAST} units, or not among the {MOST} largest")
    return masks, notes


def slice_values(
    units: Sequence[Unit], names: Sequence[str] | None, thirds: tuple[float, float]
) -> Iterator[tuple[str, list[str]]]:
    """Each field with the value of each unit, empty if it has none; a named field that no unit has is refused."""
    for name in NAMES if names is None else names:
        values = [_value(unit, name, thirds) for unit in units]
        if name == "language":
            detected = languages_of([unit.prompt for unit in units])
            values = [value or language_name(found) for value, found in zip(values, detected, strict=True)]
        if names is not None and not any(values):
            known = {field for unit in units for field in unit.fields} | {"language", "length"}
            raise InputError(f"no record has a field {name!r} to slice by{nearest(name, known)}")
        yield SHOWN_NAMES.get(name, name), values


def thirds_of(units: Iterable[Unit]) -> tuple[float, float]:
    """Lengths of prompts, in characters, that split them into thirds."""
    lengths = [len(unit.prompt) for unit in units if unit.prompt]
    low, high = np.quantile(lengths, [1 / 3, 2 / 3]) if lengths else (0.0, 0.0)
    return float(low), float(high)


def _value(unit: Unit, name: str, thirds: tuple[float, float]) -> str:
    """Group of a unit; empty if it has none."""
    if name in unit.fields or not unit.prompt:
        return unit.fields.get(name, "")
    if name == "length":
        return LENGTHS[sum(len(unit.prompt) > limit for limit in thirds)]
    return ""

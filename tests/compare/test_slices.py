"""Slices by fields, script and length of prompts."""

from __future__ import annotations

import pytest

from interloq import InputError
from interloq.compare.slices import LEAST, slices, thirds_of
from interloq.compare.versions import Unit

UNITS = [
    Unit(str(i), {}, {}, fields={"topic": "food" if i % 2 else "films"}, prompt="x" * (1 + i)) for i in range(3 * LEAST)
]


def test_units_are_grouped_by_fields_and_length() -> None:
    found, notes = slices(UNITS, None, thirds_of(UNITS))
    assert list(found) == [
        "topic: films",
        "topic: food",
        "prompt length: long",
        "prompt length: medium",
        "prompt length: short",
    ]
    assert found["topic: food"].tolist() == [i % 2 == 1 for i in range(3 * LEAST)]
    assert found["prompt length: short"].sum() == LEAST
    assert notes == []


def test_small_slices_are_counted_and_unknown_fields_refused() -> None:
    odd = [*UNITS, Unit("odd", {}, {}, fields={"topic": "sport"})]
    found, notes = slices(odd, ["topic"], (0.0, 0.0))
    assert list(found) == ["topic: films", "topic: food"]
    assert notes == ["1 value of topic not tested: fewer than 10 units, or not among the 20 largest"]
    with pytest.raises(InputError, match="no record has a field 'topics' to slice by; did you mean 'topic'"):
        slices(UNITS, ["topics"], (0.0, 0.0))
    assert slices(UNITS, [], (0.0, 0.0)) == ({}, [])


def test_a_named_language_is_kept_and_others_are_detected() -> None:
    german = "Ich habe keine Zeit, weil ich heute nicht zu Hause bin."
    units = [Unit(str(i), {}, {}, fields={"language": "Swiss"}, prompt=german) for i in range(LEAST)]
    units += [Unit(f"d{i}", {}, {}, prompt=german) for i in range(LEAST)]
    assert list(slices(units, ["language"], (0.0, 0.0))[0]) == ["language: German", "language: Swiss"]
    assert thirds_of([]) == (0.0, 0.0)

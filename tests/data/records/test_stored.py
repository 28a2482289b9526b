"""Results read back from JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson
import pytest

from interloq.data.records.jsonl import to_json
from interloq.data.records.stored import read_all_stored, read_stored


@dataclass(frozen=True)
class Made:
    """One field of each type."""

    name: str
    value: float
    ci: tuple[float, float]
    n: int = 0
    known: bool = False
    p: float | None = None
    notes: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


MADE = Made("a", math.nan, (1, math.nan), 3, True, None, ("b", "c"), {"d": 1})
STORED = orjson.loads(orjson.dumps(to_json(asdict(MADE))))


def test_a_result_is_read_back() -> None:
    (again,) = read_all_stored(Made, [STORED | {"computed": 9}])
    assert repr(again) == repr(MADE)  # NaN is not equal to itself
    assert read_stored(Made, STORED, name="part").name == "part"


@pytest.mark.parametrize(
    "change",
    [{"name": 3}, {"value": "1"}, {"ci": [1, "x"]}, {"n": None}, {"n": True}, {"known": 1}, {"notes": [1]}, {"p": "x"},
     {"counts": {"d": "1"}}],
)  # fmt: skip
def test_a_value_of_another_type_is_named(change: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(change))):
        read_stored(Made, STORED | change)

# SPDX-License-Identifier: Apache-2.0
"""Results that were stored as JSON: dataclasses in which NaN is null and a tuple is a list."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from interloq.errors import short_repr

Result = TypeVar("Result")
TYPES: Mapping[str, Any] = {
    "float": (int, float),
    "int": int,
    "bool": bool,
    "Mapping": dict,
    "tuple": list,
}  # of fields in JSON; others are texts


def read_stored(kind: type[Result], value: Mapping[str, Any], **parts: Any) -> Result:
    """Return a dataclass from a JSON object and the `parts` that are results themselves.

    A value whose type differs from its field's is a TypeError. Values without a field, such as computed ones, are
    ignored.
    """
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in value and field.name not in parts:
            parts[field.name] = _read_value(value[field.name], str(field.type), field.name)
    return kind(**parts)


def read_all_stored(kind: type[Result], values: Iterable[Mapping[str, Any]]) -> tuple[Result, ...]:
    """Return one dataclass per JSON object."""
    return tuple(read_stored(kind, value) for value in values)


def _read_value(value: Any, kind: str, name: str) -> Any:
    if value is None and kind == "float":
        return math.nan
    if value is None and kind.endswith("| None"):
        return None
    if kind.startswith("tuple[float, float]"):
        low, high = value
        return _read_value(low, "float", name), _read_value(high, "float", name)
    expected = TYPES.get(kind.partition(" ")[0].partition("[")[0], str)
    if not isinstance(value, expected) or isinstance(value, bool) != (kind == "bool"):
        raise TypeError(f"{name} is {short_repr(value)}, not {kind}")
    if kind == "Mapping[str, int]":
        return {key: _read_value(item, "int", f"{name}.{key}") for key, item in value.items()}
    if expected is list:
        return tuple(_read_value(item, "str", name) for item in value)
    return value

# SPDX-License-Identifier: Apache-2.0
"""Read comparisons and gates that `interloq compare -o` and `interloq gate -o` wrote."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from interloq.compare.comparison import Change, Comparison, HumanMean, Worse
from interloq.compare.gate.gate import EXIT_CODES, Gate, Verdict
from interloq.compare.repeats import Noise
from interloq.data.files.opening import read_json, reading_saved
from interloq.signature import Signature
from interloq.statistics.estimate import Estimate

Record = TypeVar("Record", Change, Comparison, Estimate, Gate, HumanMean, Noise, Verdict, Worse)
TYPES: Mapping[str, Any] = {
    "float": (int, float),
    "int": int,
    "bool": bool,
    "Mapping": dict,
}  # of fields in JSON; others are texts


def read_comparison(path: str | Path) -> Comparison | Gate:
    """Read a comparison, or a gate with the comparison it is based on."""
    hint = "make one: interloq compare -o FILE, or interloq gate -o FILE"
    value = read_json(path, hint=hint)
    with reading_saved(path, "not a comparison", hint=hint):
        return _gate(value) if "comparison" in value else _comparison(value)


def _gate(value: Mapping[str, Any]) -> Gate:
    if value["outcome"] not in EXIT_CODES:
        raise ValueError(f"unknown outcome {value['outcome']!r}")
    verdicts = tuple(_verdict(verdict) for verdict in value["verdicts"])
    noise = tuple(_record(Noise, noise) for noise in value["noise"])
    return _record(Gate, value, verdicts=verdicts, comparison=_comparison(value["comparison"]), noise=noise)


def _verdict(value: Mapping[str, Any]) -> Verdict:
    slope = value.get("slope")
    return _record(Verdict, value, slope=_record(Estimate, slope) if slope else None)


def _comparison(value: Mapping[str, Any]) -> Comparison:
    return _record(
        Comparison,
        value,
        changes=tuple(_change(change) for change in value["changes"]),
        people=tuple(_record(HumanMean, mean) for mean in value["people"]),
        worse=tuple(_record(Worse, worse) for worse in value["worse"]),
        signature=Signature.from_json(value["signature"]),
    )


def _change(value: Mapping[str, Any]) -> Change:
    old, new = (_record(Estimate, value[side]) for side in ("old", "new"))
    return _record(Change, value, old=old, new=new)


def _record(kind: type[Record], value: Mapping[str, Any], **parts: Any) -> Record:
    """A record from a JSON object and nested records; values that are computed from others are not read."""
    plain = (field for field in fields(kind) if field.name in value and field.name not in parts)
    return kind(**{field.name: _value(value[field.name], str(field.type)) for field in plain}, **parts)


def _value(value: Any, kind: str) -> Any:
    """A value from JSON, where NaN is null and a tuple a list; one of another type than the field's is an error."""
    if value is None and (kind == "float" or kind.endswith("| None")):
        return math.nan if kind == "float" else None
    if kind.startswith("tuple[float, float]"):
        low, high = value
        return _value(low, "float"), _value(high, "float")
    many = kind == "tuple[str, ...]"
    expected = list if many else TYPES.get(kind.partition(" ")[0].partition("[")[0], str)
    if not isinstance(value, expected) or isinstance(value, bool) != (kind == "bool"):
        raise TypeError(f"{value!r} instead of {kind}")
    return tuple(_value(item, "str") for item in value) if many else value

# SPDX-License-Identifier: Apache-2.0
"""Read comparisons and gates that `interloq compare -o` and `interloq gate -o` wrote."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
    "tuple": list,
}  # of fields in JSON; others are texts


def read_comparison(path: str | Path) -> Comparison | Gate:
    """Read a comparison, or a gate with the comparison it is based on."""
    hint = "make one: interloq compare -o FILE, or interloq gate -o FILE"
    value = read_json(path, hint=hint)
    with reading_saved(path, "not a comparison", hint=hint):
        if "comparison" in value:
            if value["outcome"] not in EXIT_CODES:
                raise ValueError(f"unknown outcome {value['outcome']!r}")
            verdicts = []
            for verdict in value["verdicts"]:
                slope = verdict.get("slope")
                if slope:
                    slope = _read_record(Estimate, slope)
                verdicts.append(_read_record(Verdict, verdict, slope=slope))
            return _read_record(
                Gate,
                value,
                verdicts=tuple(verdicts),
                comparison=_read_comparison(value["comparison"]),
                noise=_read_records(Noise, value["noise"]),
            )
        return _read_comparison(value)


def _read_comparison(value: Mapping[str, Any]) -> Comparison:
    changes = []
    for change in value["changes"]:
        old, new = _read_record(Estimate, change["old"]), _read_record(Estimate, change["new"])
        changes.append(_read_record(Change, change, old=old, new=new))
    return _read_record(
        Comparison,
        value,
        changes=tuple(changes),
        people=_read_records(HumanMean, value["people"]),
        worse=_read_records(Worse, value["worse"]),
        signature=Signature.from_json(value["signature"]),
    )


def _read_records(kind: type[Record], values: Sequence[Mapping[str, Any]]) -> tuple[Record, ...]:
    return tuple(_read_record(kind, value) for value in values)


def _read_record(kind: type[Record], value: Mapping[str, Any], **parts: Any) -> Record:
    """Return a record from a JSON object and nested records; values that are computed from others are not read."""
    for field in fields(kind):
        if field.name in value and field.name not in parts:
            parts[field.name] = _read_value(value[field.name], str(field.type))
    return kind(**parts)


def _read_value(value: Any, kind: str) -> Any:
    """Return a value from JSON, where NaN is null and a tuple a list; refuse one of another type than the field's."""
    if value is None and kind == "float":
        return math.nan
    if value is None and kind.endswith("| None"):
        return None
    if kind.startswith("tuple[float, float]"):
        low, high = value
        return _read_value(low, "float"), _read_value(high, "float")
    expected = TYPES.get(kind.partition(" ")[0].partition("[")[0], str)
    if not isinstance(value, expected) or isinstance(value, bool) != (kind == "bool"):
        raise TypeError(f"{value!r} instead of {kind}")
    if expected is list:
        return tuple(_read_value(item, "str") for item in value)
    return value

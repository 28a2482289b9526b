# SPDX-License-Identifier: Apache-2.0
"""Correlation of metrics with people as references are added, for a file of rated samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import orjson

from interloq.data.files.opening import lines, reading_saved
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.data.records.jsonl import header, write
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError, short_repr
from interloq.reliability.curve import DEFAULTS, AgreementCurve, AgreementPoint, curve
from interloq.reliability.labels import group_queries
from interloq.reliability.reliability_options import CurveOptions

TYPES: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "str": (str,),
    "Coefficient": (str,),
    "Level": (str,),
}


def curve_file(
    samples: str | Path,
    metrics: Sequence[str],
    output: str | Path | None = None,
    options: CurveOptions = DEFAULTS,
    *,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> list[AgreementCurve]:
    """Compute one curve per metric (see `reliability.curve.curve`), also written to `output`, if given."""
    refuse_overwriting([output] if output else [], [samples])
    records = list(reading.read(samples))
    queries = group_queries(records, aspect=options.aspect)
    distrusted = 0
    for sample in records:
        distrusted += sum(reference.weight <= 0 for reference in sample.references)
    curves = []
    for metric in metrics:
        with progress(f"scoring replies with {metric}", sum(len(query.replies) for query in queries)) as step:
            curves.append(replace(curve(queries, metric, options, step=step), distrusted=distrusted))
    if output:
        facts = {"sizes": list(options.sizes), "own": options.own, "draws": options.draws}
        facts |= {"resamples": options.n_bootstrap, "seed": options.seed}
        if options.without_copies:
            facts["without_copies"] = True
        write(output, curves, kind="curves", aspect=options.aspect, options=facts)
    return curves


def read_curves(path: str | Path) -> list[AgreementCurve]:
    """Return the curves in a file that `curve_file` wrote."""
    written = [line for _, line in lines(path)]
    if header(path).get("kind") != "curves":
        raise InputError("not a file of curves", hint="make one: interloq reliability curve -o", where=str(path))
    with reading_saved(path):
        return [_parse_curve(orjson.loads(line)) for line in written[1:]]


def _parse_curve(value: Mapping[str, Any]) -> AgreementCurve:
    points = []
    for point in value["points"]:
        point_fields = {name: _restore_nan(part) for name, part in point.items()}
        points.append(AgreementPoint(**point_fields))
    curve = AgreementCurve(**{"skipped": {}, **value, "points": points})
    for point in points:
        _check_types(point)
    _check_types(curve)
    for reason, queries in curve.skipped.items():
        _check_type(f"skipped.{reason}", queries, "int")
    return curve


def _check_types(record: AgreementCurve | AgreementPoint) -> None:
    """Raise a TypeError if a field is not of its type, because JSON may have any."""
    for field in fields(record):
        value = getattr(record, field.name)
        if field.type == "tuple[float, float]":
            for bound in value:
                _check_type(field.name, bound, "float")
        else:
            _check_type(field.name, value, str(field.type))


def _check_type(name: str, value: object, type_name: str) -> None:
    expected = TYPES.get(type_name)
    if expected and (not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected)):
        raise TypeError(f"{name} is {short_repr(value)}")


def _restore_nan(value: Any) -> Any:
    """Return intervals as tuples, and NaN for numbers that are null in JSON."""
    if isinstance(value, list):
        low, high = value
        return _restore_nan(low), _restore_nan(high)
    return math.nan if value is None else value

# SPDX-License-Identifier: Apache-2.0
"""Correlation of metrics with people as references are added, for a file of rated samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import orjson

from interloq.data.files.opening import lines, reading_saved
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.data.records.jsonl import Rejected, header, read, write
from interloq.errors import InputError, short_repr
from interloq.reliability.curve import DRAWS, OWN, SIZES, AgreementCurve, AgreementPoint, curve
from interloq.reliability.labels import Coefficient, group_queries

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
    *,
    sizes: Sequence[int] = SIZES,
    own: int = OWN,
    aspect: str = "overall",
    coefficient: Coefficient = "pearson",
    draws: int = DRAWS,
    n_bootstrap: int = 1000,
    seed: int = 0,
    without_copies: bool = False,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> list[AgreementCurve]:
    """Compute one curve per metric (see `reliability.curve.curve`), also written to `output`, if given."""
    refuse_overwriting([output] if output else [], [samples])
    records = list(read(samples, strict=strict, on_reject=on_reject, columns=columns))
    queries = group_queries(records, aspect=aspect)
    distrusted = 0
    for sample in records:
        distrusted += sum(reference.weight <= 0 for reference in sample.references)
    curves = []
    for metric in metrics:
        with progress(f"scoring replies with {metric}", sum(len(query.replies) for query in queries)) as step:
            metric_curve = curve(
                queries,
                metric,
                sizes=sizes,
                own=own,
                coefficient=coefficient,
                draws=draws,
                n_bootstrap=n_bootstrap,
                seed=seed,
                without_copies=without_copies,
                step=step,
            )
        curves.append(replace(metric_curve, distrusted=distrusted))
    if output:
        options = {"sizes": list(sizes), "own": own, "draws": draws, "resamples": n_bootstrap, "seed": seed}
        if without_copies:
            options["without_copies"] = True
        write(output, curves, kind="curves", aspect=aspect, options=options)
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

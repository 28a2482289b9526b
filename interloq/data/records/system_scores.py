# SPDX-License-Identifier: Apache-2.0
"""People's score of each system: `{"mine": 4.1, "theirs": 3.9}`, or a table with a name and a number per line."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path

from interloq.data.files.opening import not_utf8, read_small
from interloq.errors import InputError, short_repr

HINT = 'write {"system": score, …} as JSON, or lines system,score as CSV'


def read_system_scores(path: str | Path) -> dict[str, float]:
    """Return the score of each system by name; the first line of a table may be a header."""
    try:
        text = read_small(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_utf8(error, str(path)) from error
    read = _json if text.lstrip().startswith("{") else _table
    scores: dict[str, float] = {}
    for where, name, value in read(text, str(path)):
        if name in scores:
            raise InputError(f"system {name!r} is listed twice", hint="give each system one score", where=where)
        if not math.isfinite(value):
            raise InputError(f"the score of {name!r} is {value}", hint="omit the system", where=where)
        scores[name] = value
    if not scores:
        raise InputError("no scores of systems", hint=HINT, where=str(path))
    return scores


def _json(text: str, path: str) -> Iterator[tuple[str, str, float]]:
    try:
        pairs: list[tuple[str, object]] = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError) as error:  # numbers with more digits than Python converts are also ValueErrors
        raise InputError(f"not valid JSON ({error})", hint=HINT, where=path) from error
    for name, value in pairs:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"the score of {name!r} is not a number: {short_repr(value)}", hint=HINT, where=path)
        try:
            yield path, name, float(value)
        except OverflowError as error:
            raise InputError(
                f"the score of {name!r} is too large: {short_repr(value)}", hint=HINT, where=path
            ) from error


def _table(text: str, path: str) -> Iterator[tuple[str, str, float]]:
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f"not a valid row: {error}", hint=HINT, where=path) from error
    for number, row in enumerate(rows, start=1):
        if not any(cell.strip() for cell in row):
            continue
        where = f"{path}:{number}"
        if len(row) != 2:
            raise InputError(f"expected a system and a score, got {len(row)} cells", hint=HINT, where=where)
        try:
            yield where, row[0].strip(), float(row[1])
        except ValueError as error:
            if number > 1:
                raise InputError(f"{row[1]!r} is not a number", hint=HINT, where=where) from error

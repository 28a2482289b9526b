# SPDX-License-Identifier: Apache-2.0
"""Fields of published items, checked one by one; errors name the file and the item's number."""

from __future__ import annotations

import csv
import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import count
from typing import Any

from interloq.data.files.archives import DataFile, text, text_lines
from interloq.data.files.opening import parse_json
from interloq.errors import InputError, short_repr
from interloq.records import Turn

SHOWN_NAMES = 8


@dataclass(frozen=True, slots=True)
class DatasetItem:
    """One object of a dataset; `where` is `file:number`, counted from 0 as in the ids."""

    value: Mapping[str, Any]
    where: str

    def text(self, name: str) -> str:
        """Return a text field, without white space around it."""
        return str(self._get(name, str, "text")).strip()

    def sequence(self, name: str) -> list[Any]:
        """Return a list field."""
        return list(self._get(name, list, "a list"))

    def objects(self, name: str) -> list[DatasetItem]:
        """Return a list field of objects."""
        return [as_item(value, self.where) for value in self.sequence(name)]

    def turns(self, name: str, text: str, *further: str) -> list[Turn]:
        """Return a list field of turns; `text` and `further` name the fields that hold text, speaker and time."""
        turns = []
        for turn in self.objects(name):
            speaker, time = [*map(turn.text, further), "", ""][:2]
            turns.append(Turn(turn.text(text), speaker, time))
        return turns

    def inner(self, name: str) -> DatasetItem:
        """Return an object field."""
        return DatasetItem(self._get(name, dict, "an object"), self.where)

    def number(self, name: str) -> float:
        """Return a number field."""
        return as_number(self.value.get(name), name, self.where)

    def cell(self, name: str) -> float:
        """Return a number field written as text, as in CSV."""
        try:
            return as_number(float(self.text(name)), name, self.where)
        except ValueError:
            raise self.error(f"{name!r} must be a number, got {self.text(name)!r:.60}") from None

    def error(self, what: str, hint: str = "compare it with the published file") -> InputError:
        """Return an error that names this item."""
        return InputError(what, hint=hint, where=self.where)

    def _get(self, name: str, kind: type, expected: str) -> Any:
        if name not in self.value:
            raise self.error(_describe_missing(name, self.value))
        value = self.value[name]
        if not isinstance(value, kind):
            raise self.error(f"{name!r} must be {expected}, got {short_repr(value)}")
        return value


def _describe_missing(name: str, value: Mapping[str, Any]) -> str:
    """Return the message about a missing field, with the field that was probably meant."""
    if close := difflib.get_close_matches(name, value, n=1, cutoff=0.5):
        return f"expected a field {name!r}, found {close[0]!r}"
    names = ", ".join(map(repr, list(value)[:SHOWN_NAMES]))
    return f"{name!r} is missing; found {names or 'no fields'}"


def items(file: DataFile) -> Iterator[DatasetItem]:
    """Yield the objects of a JSON list."""
    values = parse_json(text(file), file.where)
    if not isinstance(values, list):
        what = f"expected a JSON list of items, got {type(values).__name__}"
        raise InputError(what, hint="name the published file", where=file.where)
    for i, value in enumerate(values):
        yield as_item(value, f"{file.where}:{i}")


def json_lines(file: DataFile) -> Iterator[DatasetItem]:
    """Yield the objects of a file with one JSON object per line."""
    for i, line in enumerate(text_lines(file)):
        if line:
            yield as_item(parse_json(line, f"{file.where}:{i}"), f"{file.where}:{i}")


def rows(file: DataFile, columns: Sequence[str]) -> Iterator[DatasetItem]:
    """Yield the rows of a CSV file, numbered from 0 after the line of column names."""
    reader = csv.DictReader(StringIO(text(file), newline=""), strict=True, restval="")
    try:
        missing = [name for name in columns if name not in (reader.fieldnames or ())]
    except csv.Error as error:
        raise InputError(f"not a table: {error}", hint="copy the file again", where=file.where) from error
    if missing:
        raise InputError(f"no column {', '.join(map(repr, missing))}", hint="name the published file", where=file.where)
    for index in count():
        where = f"{file.where}:{index}"
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise InputError(f"not a valid row: {error}", hint="copy the file again", where=where) from error
        if row is None:
            return
        yield DatasetItem(row, where)


def as_item(value: Any, where: str) -> DatasetItem:
    """Return a JSON object of a published file."""
    if not isinstance(value, dict):
        raise InputError(
            f"expected an object, got {short_repr(value)}", hint="compare it with the published file", where=where
        )
    return DatasetItem(value, where)


def as_number(value: Any, name: str, where: str) -> float:
    """Return a finite number of a published file."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise InputError(
        f"{name!r} must be a number, got {short_repr(value)}", hint="compare it with the published file", where=where
    )


def alternate(texts: Iterable[str]) -> list[Turn]:
    """Return the turns of two speakers, A and B, who take turns."""
    return [Turn(text, "AB"[i % 2]) for i, text in enumerate(texts)]


def slug(name: str) -> str:
    """Return a system's name as part of an id: `Nucleus Decoding (p = 0.3)` → `Nucleus-Decoding-p-0.3`."""
    return re.sub(r"[^\w.]+", "-", name).strip("-")

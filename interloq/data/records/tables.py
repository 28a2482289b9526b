# SPDX-License-Identifier: Apache-2.0
"""Rows of CSV and TSV files and of data frames: one row per sample, or per rating.

docs/data.md lists the columns. `time` and `reason` of ratings are not used; an empty rating and `N/A` are "not
applicable" (null).

In tables that are written, every text is quoted. A text that begins like a formula gets an apostrophe in front, as in a
spreadsheet; the reader of ratings removes it.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from interloq.data.files.opening import MAX_LINE, lines, not_utf8, plain_suffix, write_text
from interloq.data.records.parsers import is_not_applicable
from interloq.data.records.synonyms import FIELDS, Names
from interloq.errors import InputError

SEPARATOR = "|||"
COLUMNS = {
    "samples": ("id", "context", "response", "reference", "references", "system", "dialogue", "rater", "rating"),
    "ratings": ("item", "rater", "aspect", "role", "value", "system", "time", "reason"),
}
COLUMNS["prompts"] = COLUMNS["samples"]
REQUIRED = {"samples": "response", "prompts": "context", "ratings": "value"}
MISSPELT = 0.6  # similarity from which an unknown column is taken for a misspelt field
DELIMITERS = (",", ";", "\t")
Reject = Callable[[int, bytes, InputError], None]


def is_table(path: str | Path) -> bool:
    """Return whether a file is CSV or TSV, by its name."""
    return plain_suffix(path) in (".csv", ".tsv")


def rows(path: str | Path, kind: str, names: Names, reject: Reject) -> Iterator[tuple[int, bytes, Mapping[str, Any]]]:
    """Yield each row as (line number, line, cells by column)."""
    if kind not in COLUMNS:
        raise InputError(f"{kind} cannot be read from a table", hint="give a .jsonl file", where=str(path))
    csv.field_size_limit(MAX_LINE)
    texts = _decode_lines(path, reject)
    first = next(texts, "")
    usual = "\t" if plain_suffix(path) == ".tsv" else ","
    delimiter = max(DELIMITERS, key=lambda mark: (first.count(mark), mark == usual))  # names of exports may be wrong
    try:
        column_names = next(csv.reader([first], delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        hint = "close every quote and end lines with a line feed"
        raise InputError(f"not a row of column names: {_csv_message(error)}", hint=hint, where=f"{path}:1") from error
    columns = columns_of(column_names, kind, names, where=f"{path}:1")
    reader = csv.reader(texts, delimiter=delimiter, strict=True)
    while True:
        start = reader.line_num + 2
        try:
            cells = next(reader, None)
        except csv.Error as error:
            reject(start, b"", InputError(f"not a valid row: {_csv_message(error)}", hint="close every quote"))
            continue
        if cells is None:
            return
        line = delimiter.join(cells).encode()
        if not any(cells):
            continue
        if len(cells) != len(columns):
            what = f"{len(cells)} cells for {len(columns)} columns"
            reject(start, line, InputError(what, hint="quote cells that contain the separator"))
        else:
            yield start, line, {name: cell for name, cell in zip(columns, cells, strict=True) if name}


def columns_of(names_in_table: Sequence[Any], kind: str, names: Names, *, where: str) -> list[str]:
    """Return the column names in lower case; a name like a misspelt field is refused, since it would be lost.

    Other unknown columns are noted in `names`. A column without a name (the index that pandas writes) keeps an empty
    name.
    """
    columns: list[str] = []
    for column in names_in_table:
        name = str(column).strip().lower()
        columns.append("" if name.startswith("unnamed:") else name)
    for name, columns_with_name in Counter(columns).items():
        if name and columns_with_name > 1:
            raise InputError(f"two columns are named {name!r}", hint="rename one", where=where)
    try:
        fields = names.rename(dict.fromkeys(filter(None, columns)))
        names.check()
    except InputError as error:
        raise InputError(error.what, hint=error.hint, where=where) from error
    names.ignored = _unknown_columns(list(fields), kind, where)
    if kind != "ratings" and "rater" in fields and "id" not in fields:
        hint = "give each sample an id, so that the ratings of its rows can be merged"
        raise InputError("there is a column 'rater' but no column 'id'", hint=hint, where=where)
    return columns


def _unknown_columns(fields: Sequence[str], kind: str, where: str) -> list[str]:
    """Return the columns that are not fields; one that may be a missing field is refused."""
    stems = {name.split(":")[0]: name for name in fields}
    unknown = {stem: name for stem, name in stems.items() if not _is_column(stem, kind)}
    required = REQUIRED[kind]
    if required not in stems:
        close = difflib.get_close_matches(required, unknown, n=1, cutoff=0.5)
        if not close and len(unknown) == 1:
            close = list(unknown)
        column = unknown[close[0]] if close else "NAME"
        what = f"no column {required!r}; the columns are {', '.join(map(repr, fields)) or 'not named'}"
        hint = f"name it in the first row or map it: --map {required}={column}"
        raise InputError(what, hint=hint, where=where)
    absent = [field for field in COLUMNS[kind] if field not in stems]
    for stem, name in unknown.items():
        if close := difflib.get_close_matches(stem, absent, n=1, cutoff=MISSPELT):
            hint = "rename or delete it"
            if close[0] in FIELDS[kind]:
                hint += f", or map it: --map {close[0]}={name}"
            raise InputError(f"unknown column {name!r}; did you mean {close[0]!r}?", hint=hint, where=where)
    return list(unknown.values())


def _is_column(stem: str, kind: str) -> bool:
    return stem in COLUMNS[kind] or (stem.startswith("reference_") and stem[10:].isdigit())


def cells(row: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return a row with standard column names as the JSON values of its record. Cells may already be lists."""
    if kind == "ratings":
        texts = {}
        for name, cell in row.items():
            if name != "value" and cell != "":
                texts[name] = unguard(cell) if isinstance(cell, str) else as_name(cell)
        return {**texts, "value": _number("value", row["value"])}
    return _sample_cells(row)


def _sample_cells(row: Mapping[str, Any]) -> dict[str, Any]:
    value: dict[str, Any] = {"response": row.get("response")}
    for name in ("id", "system", "dialogue", "rater"):
        if row.get(name, "") not in ("", None):
            value[name] = as_name(row[name])
    if "context" in row:
        value["context"] = _texts_of(row["context"])
    references = list(_texts_of(row.get("references")))
    ratings = []
    for name, cell in row.items():
        if name == "reference" or name.startswith("reference_"):
            references += [cell] if isinstance(cell, str) and cell else _texts_of(cell)
        elif name.split(":")[0] == "rating":
            _, aspect, rater = [*name.split(":", 2), "", ""][:3]
            ratings.append({"value": _number(name, cell), "aspect": aspect or "overall", "rater": rater})
    value["references"], value["ratings"] = references, ratings
    for name, cell in row.items():
        if not _is_column(name.split(":")[0], "samples") and cell not in ("", None):
            value.setdefault(name, cell)
    return value


def _decode_lines(path: str | Path, reject: Reject) -> Iterator[str]:
    """Yield the lines as text; one that is not UTF-8 is rejected and becomes empty, to keep the line numbers right."""
    for number, line in lines(path):
        try:
            yield line.decode("utf-8") + "\n"
        except UnicodeDecodeError as error:
            reject(number, line, not_utf8(error))
            yield "\n"


def _csv_message(error: csv.Error) -> str:
    """Return the message of a csv error, without its advice to programmers."""
    return str(error).split(" - ")[0]


def _texts_of(cell: Any) -> list[Any]:
    """Return the texts of a cell: none if it is empty or missing, several if it is split or a list."""
    if cell is None:
        return []
    if isinstance(cell, str):
        return [part.strip() for part in cell.split(SEPARATOR) if part.strip()]
    if isinstance(cell, list):
        return cell
    return [cell]


def as_name(cell: Any) -> Any:
    """Return a number used as a name, as text: a table cannot distinguish `7` from `"7"`."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, int | float):
        return str(cell)
    return cell


def _number(name: str, cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    if is_not_applicable(cell):
        return None
    try:
        return float(cell)
    except ValueError:
        hint = "write numbers as 4.5, and N/A or nothing for 'not applicable'"
        raise InputError(f"{name} must be a number, got {cell!r:.60}", hint=hint) from None


Cell = str | float | None
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # full-width signs start formulas in East Asian versions


def write_table(path: str | Path, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Write rows below their column names, separated by tabs if the file is named .tsv; None is an empty cell."""
    text = io.StringIO()
    delimiter = "\t" if plain_suffix(path) == ".tsv" else ","
    # text in quotes: a carriage return would end the row otherwise
    table = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    table.writerow([guard(name) for name in columns])
    for row in rows:
        table.writerow([_prepare_cell(cell) for cell in row])
    write_text(path, text.getvalue())


def _prepare_cell(cell: Cell) -> str | float:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return guard(cell)
    if float(cell).is_integer():
        return int(cell)
    return cell


def guard(text: str) -> str:
    """Return text that no spreadsheet will take for a formula."""
    if _FORMULA.match(text):
        return f"'{text}"
    return text


def unguard(text: str) -> str:
    """Return the text that `guard` was given."""
    if text.startswith("'") and _FORMULA.match(text):
        return text[1:]
    return text

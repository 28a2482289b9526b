"""Records from CSV and TSV: one row a sample.

Columns: `id`, `context` and `references` (several joined by `|||`), `reference`, `reference_2`, …, `response`,
`system`, `rating`, `rating:<aspect>` or `rating:<aspect>:<rater>`. An empty rating is "not applicable" (null).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from interloq.data.files import MAX_LINE, lines, plain_suffix
from interloq.errors import InputError, nearest

SEPARATOR = "|||"
COLUMNS = ("id", "context", "response", "reference", "references", "system", "rating")
Reject = Callable[[int, bytes, InputError], None]


def rows(path: str | Path, kind: str, reject: Reject) -> Iterator[tuple[int, bytes, Mapping[str, Any]]]:
    """Each row as (line number, the line again, JSON-like values)."""
    if kind != "samples":
        raise InputError(f"{kind} cannot be read from a table", cure="give a .jsonl file", where=str(path))
    csv.field_size_limit(MAX_LINE)
    delimiter = "\t" if plain_suffix(path) == ".tsv" else ","
    reader = csv.reader(_texts(path, reject), delimiter=delimiter, strict=True)
    columns = _columns(next(reader, []), path)
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            reject(start, b"", InputError(f"not a valid row: {error}", cure="close every quote"))
            continue
        if cells is None:
            return
        line = delimiter.join(cells).encode()
        if len(cells) != len(columns):
            what = f"{len(cells)} cells for {len(columns)} columns"
            reject(start, line, InputError(what, cure="quote cells that hold the separator"))
        elif any(cells):
            try:
                yield start, line, _values(dict(zip(columns, cells, strict=True)))
            except InputError as error:
                reject(start, line, error)


def _texts(path: str | Path, reject: Reject) -> Iterator[str]:
    for number, line in lines(path):
        try:
            yield line.decode("utf-8") + "\n"
        except UnicodeDecodeError as error:
            what = f"byte {error.start + 1} is not valid UTF-8"
            reject(number, line, InputError(what, cure="save the file as UTF-8"))


def _columns(names: list[str], path: str | Path) -> list[str]:
    names = [name.strip().lower() for name in names]
    for name in names:
        stem = name.split(":")[0]
        known = stem in COLUMNS or (stem.startswith("reference_") and stem[10:].isdigit())
        if not known:
            raise InputError(f"unknown column {name!r}{nearest(stem, COLUMNS)}", where=f"{path}:1")
    if "response" not in names:
        raise InputError("no column 'response'", cure="name the columns in the first row", where=f"{path}:1")
    return names


def _values(row: Mapping[str, str]) -> dict[str, Any]:
    value: dict[str, Any] = {"response": row["response"], "references": [], "ratings": []}
    for name, cell in row.items():
        if name in ("id", "system") and cell:
            value[name] = cell
        elif name in ("context", "references"):
            value[name] = value.get(name, []) + [part.strip() for part in cell.split(SEPARATOR) if part.strip()]
        elif name.startswith("reference") and cell:
            value["references"].append(cell)
        elif name.startswith("rating"):
            value["ratings"].append(_rating(name, cell))
    return value


def _rating(name: str, cell: str) -> dict[str, Any]:
    _, aspect, rater = [*name.split(":", 2), "", ""][:3]
    try:
        value = float(cell) if cell.strip() else None
    except ValueError:
        raise InputError(f"{name} must be a number, got {cell!r:.60}", cure="leave it empty for 'n/a'") from None
    return {"value": value, "aspect": aspect or "overall", "rater": rater}

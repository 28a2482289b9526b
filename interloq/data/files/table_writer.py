# SPDX-License-Identifier: Apache-2.0
"""CSV and TSV files that are written: every text is quoted, and no spreadsheet takes one for a formula.

A text that begins like a formula gets an apostrophe in front, as in a spreadsheet; the reader of ratings removes it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from interloq.data.files.opening import plain_suffix, write_text

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
    """Return text that no spreadsheet takes for a formula."""
    if _FORMULA.match(text):
        return f"'{text}"
    return text


def unguard(text: str) -> str:
    """Return the text that `guard` was given."""
    if text.startswith("'") and _FORMULA.match(text):
        return text[1:]
    return text

# SPDX-License-Identifier: Apache-2.0
"""Output for people and programs: lines, tables, JSON.

Only `print_line`, `print_stderr`, `print_table` and `print_json` print texts from data: they escape control characters.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Literal

from interloq.data.records.jsonl import to_json
from interloq.records import Note
from interloq.signature import Signature
from interloq.tabular import latex, markdown, markdown_text

TableFormat = Literal["text", "markdown", "latex"]
MISSING = "n/a"
PIPED = 10_000  # width of a table that is not printed to a terminal
SHORTEST = 16  # minimum width of a name in a narrow table
_format: ContextVar[TableFormat] = ContextVar("_format", default="text")
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def print_line(text: str = "") -> None:
    """Print a line to standard output; next to LaTeX tables it is a comment, so that the output compiles."""
    if text and _format.get() == "latex":
        text = "\n".join(f"% {line}" for line in text.splitlines())
    sys.stdout.write(plain(text) + "\n")


def print_stderr(text: str) -> None:
    """Print a line to standard error."""
    with contextlib.suppress(OSError):  # standard error is closed
        sys.stderr.write(plain(text) + "\n")
        sys.stderr.flush()


def print_json(value: Any) -> None:
    """Print a value as JSON to standard output, with control characters escaped."""
    import orjson

    text = orjson.dumps(to_json(value), option=orjson.OPT_INDENT_2).decode()
    # in JSON such characters occur only in strings, where \\u escapes are valid
    sys.stdout.write(_STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, note: str = "") -> None:
    """Print a table; the first column is text, the others are numbers. Not truncated when piped.

    If the terminal is too narrow, long names in the first column are abbreviated, numbered and listed below. Within
    `table_format`, it is a Markdown or LaTeX table instead.
    """
    if (chosen := _format.get()) != "text":
        _print_source(chosen, title, columns, rows, note)
        return
    if not title and (lines := _lay_out(columns, rows)):
        sys.stdout.write("\n".join([*lines, *filter(None, [plain(note)])]) + "\n")
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPED)
    names: list[str] = []
    if _width(columns, rows) > console.width:
        rest = _width(columns[1:], [row[1:] for row in rows])
        rows, names = _number_long_names(rows, max(SHORTEST, console.width - rest - 3))
    table = Table(title=_escape_markup(title) or None, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(_escape_markup, row))
    if note:
        names.append(note)
    try:
        console.print(table)
        for line in names:
            console.print(_escape_markup(line), soft_wrap=True)
    except SystemExit as stop:  # rich would exit with 1 when the reader has gone: the verb decides its exit code
        raise BrokenPipeError from stop


def _lay_out(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a plain table; none if it needs rich, whose import takes longer than scoring a small file.

    It does if the table is wider than the terminal, if a column is empty, or if a cell has several lines or other
    letters than ASCII.
    """
    table = [[plain(cell) for cell in row] for row in (columns, *rows)]
    if not all(cell.isascii() and cell.isprintable() for row in table for cell in row):
        return []
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    inner = sum(widths) + 3 * len(widths) - 3
    is_terminal = sys.stdout.isatty()
    room = shutil.get_terminal_size().columns if is_terminal else PIPED
    if (sys.stdout.encoding or "").lower() != "utf-8" or inner + 2 > room or 0 in widths:
        return []
    lines = []
    for first, *others in table:
        cells = [first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]
        lines.append(f" {'   '.join(cells)} ")
    if is_terminal and os.environ.get("TERM") != "dumb":
        lines[0] = f"\x1b[1m{lines[0]}\x1b[0m"
    blank = " " * (inner + 2)
    return [blank, lines[0], f" {'─' * inner} ", *lines[1:], blank]


@contextlib.contextmanager
def table_format(name: TableFormat) -> Iterator[None]:
    """Print tables in this format."""
    token = _format.set(name)
    try:
        yield
    finally:
        _format.reset(token)


def _print_source(
    chosen: TableFormat, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], note: str
) -> None:
    """Print a table as Markdown, or as LaTeX with its title and note as comments."""
    if chosen == "markdown":
        text = markdown(columns, rows)
        heading, remark = f"**{markdown_text(title)}**", markdown_text(note)
    else:  # a line feed would end the comment
        text = latex(columns, rows)
        title, note = " ".join(title.split()), " ".join(note.split())
        heading, remark = f"% {title}", f"% {note}"
    if title:
        text = f"{heading}\n\n{text}"
    if note:
        text = f"{text}\n\n{remark}"
    sys.stdout.write(plain(text) + "\n\n")


def _width(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    from rich.cells import cell_len

    width = 0
    for cells in zip(columns, *rows, strict=True):
        width += max(map(cell_len, cells)) + 3
    return width


def _number_long_names(rows: Sequence[Sequence[str]], limit: int) -> tuple[list[list[str]], list[str]]:
    """Return rows with first cells that fit, such as `vbleu(…) [1]`, and lines that give the full names."""
    numbers: dict[str, int] = {}
    short = []
    for first, *rest in rows:
        if len(first) > limit:
            number = numbers.setdefault(first, len(numbers) + 1)
            name, bracket, _ = first.partition("(")
            if bracket and len(name) + 8 <= limit:
                first = f"{name}(…) [{number}]"
            else:
                first = f"{first[: limit - 6]}… [{number}]"
        short.append([first, *rest])
    return short, [f"[{number}] {name}" for name, number in numbers.items()]


def print_notes(notes: Sequence[Note]) -> None:
    """Print notes on how to read the scores; a note shared by several metrics is printed once."""
    for text in dict.fromkeys(note.text for note in notes):
        print_line(f"note: {text}")


def print_signatures(*signatures: Signature) -> None:
    """Print signatures in short form; files and JSON have the full form."""
    names = ", ".join(dict.fromkeys(signature.short for signature in signatures))
    print_line(f"signature{'s' if len(set(signatures)) > 1 else ''}: {names} (in full with --json)")


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with fixed digits, or `n/a` if it is missing."""
    if value is None or math.isnan(value):
        return MISSING
    return f"{value:.{digits}f}"


def interval(ci: tuple[float, float] | None, digits: int = 3) -> str:
    """Return an interval in brackets; empty if there is none."""
    if ci is None:
        return ""
    return f"[{number(ci[0], digits)}, {number(ci[1], digits)}]"


def number_with_interval(value: float | None, ci: tuple[float, float] | None, digits: int = 3) -> str:
    """Return a number and its interval, if it has one: `0.512 [0.401, 0.623]`."""
    return f"{number(value, digits)} {interval(ci, digits)}".rstrip()


def p_value(p: float | None) -> str:
    """Return a p-value as papers print it."""
    if p is None or math.isnan(p):
        return MISSING
    if p < 0.001:
        return "<.001"
    if p < 1:
        return f"{p:.3f}".lstrip("0")
    return "1"


def plain(text: str) -> str:
    """Return text for a terminal, with control characters and changes of writing direction escaped."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _escape_markup(text: str) -> str:
    from rich.markup import escape

    return escape(plain(text))

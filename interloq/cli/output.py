"""What verbs print: tables for people, JSON for machines, progress on standard error."""

from __future__ import annotations

import argparse
import contextlib
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from interloq.data.jsonl import SHOWN, Rejected, to_json

MISSING = "n/a"
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def add_common(parser: argparse.ArgumentParser) -> None:
    """Options every verb that prints results has."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--strict", action="store_true", help="stop at the first bad line instead of setting it aside")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def print_json(value: Any) -> None:
    import orjson

    sys.stdout.write(orjson.dumps(to_json(value), option=orjson.OPT_INDENT_2).decode() + "\n")


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, note: str = "") -> None:
    """A table; the first column is text, the others are numbers. Plain and uncut when piped."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    terminal = sys.stdout.isatty()
    console = Console(highlight=False, width=None if terminal else 10_000)
    table = Table(title=_escaped(title) or None, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", overflow="fold")
    for row in rows:
        table.add_row(*[_escaped(cell) for cell in row])
    console.print(table)
    if note:
        console.print(_escaped(note))


def number(value: float | None, digits: int = 3) -> str:
    return MISSING if value is None or math.isnan(value) else f"{value:.{digits}f}"


def interval(ci: tuple[float, float] | None, digits: int = 3) -> str:
    return "" if ci is None else f"[{number(ci[0], digits)}, {number(ci[1], digits)}]"


def p_value(p: float | None) -> str:
    if p is None or math.isnan(p):
        return MISSING
    return "<.001" if p < 0.001 else f"{p:.3f}".lstrip("0") if p < 1 else "1"


@contextlib.contextmanager
def progress(label: str, total: int | None = None, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """A bar with an estimate on standard error; silent where that is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda steps: bar.advance(task, steps)


class BadLines:
    """Names the first bad lines on standard error and counts the rest: pass it to `read` as `on_reject`."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, rejected: Rejected) -> None:
        self.count += 1
        if self.count <= SHOWN:
            print(f"interloq: set aside: {rejected}", file=sys.stderr)

    def close(self, path: str) -> None:
        from interloq.data.jsonl import rejected_path

        if self.count:
            print(f"interloq: {self.count} bad lines of {path} are in {rejected_path(path)}", file=sys.stderr)


def plain(text: str) -> str:
    """Text for a terminal: what would steer it, or turn its writing round, is spelled out."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(plain(text))

# SPDX-License-Identifier: Apache-2.0
"""What a run reports on standard error: progress, bad lines, what was spent; and exit code 1 if input was left out."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from interloq.cli.shared.arguments import add_options, make_options
from interloq.data.files.durable import make_folder
from interloq.data.files.write_errors import writing
from interloq.data.progress import Progress, format_duration, silent
from interloq.data.records.jsonl import SHOWN, Rejected, rejected_path
from interloq.data.records.read_options import ReadOptions
from interloq.errors import InputError, count
from interloq.servers.spending import SpendingLimits
from interloq.terminal.console import plain, print_stderr

EVERY = 30.0  # seconds between lines


@dataclass
class _BadLineFile:
    """The file for bad lines beside the verb's output; None if the verb has no output."""

    path: Path | None = None
    is_written: bool = False

    def add(self, rejected: Rejected) -> None:
        if self.path:
            with writing(self.path):
                make_folder(self.path.parent)
                with self.path.open("ab" if self.is_written else "wb") as file:
                    file.write(rejected.as_json())
            self.is_written = True


_bad_line_file: ContextVar[_BadLineFile | None] = ContextVar("_bad_line_file", default=None)


@contextmanager
def verb_output(path: str | None) -> Iterator[None]:
    """Name the verb's output, beside which its bad lines are written; bad lines of an earlier run are removed."""
    file = _BadLineFile(rejected_path(path or "-"))
    token = _bad_line_file.set(file)
    try:
        yield
    finally:
        _bad_line_file.reset(token)
    if file.path and not file.is_written:
        with writing(file.path):
            file.path.unlink(missing_ok=True)


class BadLineReporter:
    """An `on_reject` for all readers: reports the first bad lines of each file on standard error, counts the rest.

    A verb with an output file also writes all bad lines beside it (`rejected_path`); other verbs write nothing.
    """

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self._file = _bad_line_file.get() or _BadLineFile()

    @property
    def count(self) -> int:
        """Number of bad lines in all files."""
        return self.files.total()

    def __call__(self, rejected: Rejected) -> None:
        self.files[rejected.path] += 1
        mark_incomplete()
        if self.files[rejected.path] <= SHOWN:
            print_stderr(f"interloq: bad line: {rejected}")
        self._file.add(rejected)

    def close(self) -> None:
        """Report how many lines of each file were bad, and where they were written."""
        for path, bad in self.files.items():
            if self._file.path:
                what = f"written to {self._file.path}"
            elif bad > SHOWN:
                what = f"not used; to see them all: interloq data convert {path} -o FILE"
            else:
                what = "not used"
            print_stderr(f"interloq: {count(bad, 'bad line')} of {path} {what}")


@contextmanager
def reading(args: argparse.Namespace) -> Iterator[ReadOptions]:
    """Yield how to read the verb's input files (--strict, --map); report their bad lines afterwards."""
    bad_lines = BadLineReporter()
    yield make_options(ReadOptions, args, on_reject=bad_lines)
    bad_lines.close()


def read_texts(files: Iterable[str], *, strict: bool, kind: str | None = None) -> Iterator[str]:
    """Yield the texts of files of records or of plain text; report the bad lines of each file."""
    from interloq.data.text.texts import file_texts

    for path in files:
        bad_lines = BadLineReporter()
        yield from file_texts(path, kind=kind, reading=ReadOptions(strict=strict, on_reject=bad_lines))
        bad_lines.close()


_incomplete: ContextVar[bool] = ContextVar("_incomplete", default=False)


def mark_incomplete(condition: object = True) -> None:
    """Make the verb finish with exit code 1, because some of the input was not used or something failed."""
    if condition:
        _incomplete.set(True)


def exit_code(run: Callable[[], int | None]) -> int:
    """Return the exit code of `run` if it has one other than 0, else 1 if `mark_incomplete` was called, else 0."""
    token = _incomplete.set(False)
    try:
        return run() or int(_incomplete.get())
    finally:
        _incomplete.reset(token)


def confirm_removal(what: str) -> None:
    """Ask on the terminal before something is removed for good; anything but yes is an error."""
    if not sys.stdin.isatty():
        raise InputError(f"{what} would be removed for good", hint="add --yes to confirm")
    print_stderr(f"Remove {what} for good? [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("nothing was removed")


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add --max-calls, --max-cost and --call-log."""
    add_options(parser, SpendingLimits)


def announcer(args: argparse.Namespace) -> Callable[[str], None] | None:
    """Return a function that prints estimates on standard error, unless the run is quiet."""
    return None if args.quiet else lambda text: print_stderr(f"interloq: to be sent: {text}")


@contextmanager
def limit_spending(args: argparse.Namespace, *, may_be_incomplete: bool = True) -> Iterator[None]:
    """Apply the limits to everything inside, and print what was spent.

    Failed requests make the verb finish with exit code 1, unless it may not be incomplete: `gate` refuses by itself.
    """
    with make_options(SpendingLimits, args).apply(announcer(args)) as spent:
        yield
    mark_incomplete(may_be_incomplete and spent.failed)
    if spent.summary() and not args.quiet:
        print_stderr(f"interloq: {spent.summary()}")


@contextmanager
def progress(label: str, total: int | None = None, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Show progress; call the yielded function with the number of steps just done."""
    if quiet:
        yield lambda _: None
    elif not sys.stderr.isatty():
        yield _ProgressLines(label, total).advance
    else:
        from rich.progress import MofNCompleteColumn

        with _bars(MofNCompleteColumn()) as bar:
            task = bar.add_task(plain(label), total=total)
            yield lambda steps: bar.advance(task, steps)


def stage_progress(*, quiet: bool) -> Progress:
    """Return the `progress` argument for a stage: bars or lines, or nothing if `quiet`."""
    return silent if quiet else progress


@contextmanager
def phases(*, quiet: bool = False) -> Iterator[Callable[[str, float], None]]:
    """Show progress by phase; call the yielded function with the phase's name and the share of it that is done."""
    if quiet:
        yield lambda _, __: None
    elif not sys.stderr.isatty():
        lines = cache(_ProgressLines)
        yield lambda label, share: lines(label).reach(share)
    else:
        from rich.progress import TaskProgressColumn

        with _bars(TaskProgressColumn()) as bar:
            tasks: dict[str, Any] = {}

            def reach(label: str, share: float) -> None:
                if label not in tasks:
                    tasks[label] = bar.add_task(plain(label), total=1.0)
                bar.update(tasks[label], completed=share)

            yield reach


class _ProgressLines:
    """Counts steps and prints a line every half minute."""

    def __init__(self, label: str, total: int | None = None) -> None:
        self.label, self.total, self.done = label, total, 0
        self.started = self.last = time.monotonic()

    def advance(self, steps: int) -> None:
        self.done += steps
        if self.total:
            self._print(f"{self.done:,} of {self.total:,}", self.done / self.total)
        else:
            self._print(f"{self.done:,}", 0.0)

    def reach(self, share: float) -> None:
        self._print(f"{share:.0%}", share)

    def _print(self, reached: str, share: float) -> None:
        now = time.monotonic()
        if now - self.last < EVERY:
            return
        self.last = now
        if self.done:
            reached += f", {self.done / (now - self.started):,.3g} per second"
        if 0 < share <= 1:
            reached += f", about {format_duration((now - self.started) * (1 - share) / share)} left"
        print_stderr(f"interloq: {self.label}: {reached}")


def _bars(counter: Any) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), counter, TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)

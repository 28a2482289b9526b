# SPDX-License-Identifier: Apache-2.0
"""Shared by all verbs: bad lines reported on standard error, and an exit code of 1 if not all of the input was used."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from interloq.cli.shared.options import make_options
from interloq.data.files.durable import make_folder
from interloq.data.files.write_errors import writing
from interloq.data.records.jsonl import SHOWN, Rejected, rejected_path
from interloq.data.records.read_options import ReadOptions
from interloq.errors import InputError, count
from interloq.terminal.console import print_stderr


@dataclass
class _BadLineFile:
    """The file for bad lines beside the verb's output; None without one."""

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
    """Name the verb's output, beside which its bad lines are written; those of an earlier run are removed."""
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


_incomplete: ContextVar[bool] = ContextVar("_incomplete", default=False)


def mark_incomplete(condition: object = True) -> None:
    """Make the verb finish with exit code 1, because some of the input was not used or something failed."""
    if condition:
        _incomplete.set(True)


def exit_code(run: Callable[[], int]) -> int:
    """Return value of `run`, or 1 if it is 0 but `mark_incomplete` was called."""
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

# SPDX-License-Identifier: Apache-2.0
"""Shared by all verbs: bad lines reported on standard error, and an exit code of 1 if not all of the input was used."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from interloq.data.durable import make_folder
from interloq.data.jsonl import SHOWN, Rejected, rejected_path
from interloq.data.write_errors import writing
from interloq.errors import InputError, count
from interloq.report.console import print_stderr

_output: ContextVar[str] = ContextVar("_output", default="-")


@contextmanager
def verb_output(path: str | None) -> Iterator[None]:
    """Name the verb's output, beside which its bad lines are written."""
    token = _output.set(path or "-")
    try:
        yield
    finally:
        _output.reset(token)


class BadLines:
    """An `on_reject` for all readers: reports the first bad lines of each file on standard error, counts the rest.

    A verb with an output file also writes all bad lines beside it (`rejected_path`); other verbs write nothing.
    """

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self._target = rejected_path(_output.get())

    @property
    def count(self) -> int:
        """Number of bad lines in all files."""
        return self.files.total()

    def __call__(self, rejected: Rejected) -> None:
        self.files[rejected.path] += 1
        mark_incomplete()
        if self.files[rejected.path] <= SHOWN:
            print_stderr(f"interloq: bad line: {rejected}")
        if self._target:
            with writing(self._target):
                make_folder(self._target.parent)
                with self._target.open("wb" if self.count == 1 else "ab") as file:
                    file.write(rejected.as_json())

    def close(self) -> None:
        """Report how many lines of each file were bad, and where they were written."""
        for path, bad in self.files.items():
            if self._target:
                what = f"written to {self._target}"
            elif bad > SHOWN:
                what = f"not used; to see them all: interloq data convert {path} -o FILE"
            else:
                what = "not used"
            print_stderr(f"interloq: {count(bad, 'bad line')} of {path} {what}")


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

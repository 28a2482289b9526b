"""Shared by all verbs: common options, bad lines reported on standard error, and an exit code of 1 if not all of the
input was used.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar

from interloq.data.jsonl import SHOWN, Rejected, rejected_path
from interloq.errors import count
from interloq.report.console import print_stderr


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options of every verb that prints results."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--strict", action="store_true", help="stop at the first bad line instead of setting it aside")
    parser.add_argument("--quiet", action="store_true", help="do not show progress on standard error")


def add_drop_own_replies(parser: argparse.ArgumentParser) -> None:
    """Add the option `--drop-own-replies`."""
    parser.add_argument(
        "--drop-own-replies", action="store_true", help="drop references that are identical to the reply being judged"
    )


def add_without_system(parser: argparse.ArgumentParser) -> None:
    """Add the option `--without-system`."""
    parser.add_argument(
        "--without-system", action="append", default=[], metavar="NAME", help="exclude this system; repeatable"
    )


class BadLines:
    """An `on_reject` for all readers: reports the first bad lines of each file on standard error, counts the rest."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """Number of bad lines in all files."""
        return self.files.total()

    def __call__(self, rejected: Rejected) -> None:
        self.files[rejected.path] += 1
        mark_incomplete()
        if self.files[rejected.path] <= SHOWN:
            print_stderr(f"interloq: set aside: {rejected}")

    def close(self) -> None:
        """Report how many lines of each file were bad, and where they were written."""
        for path, bad in self.files.items():
            print_stderr(f"interloq: {count(bad, 'bad line')} of {path} set aside in {rejected_path(path)}")


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

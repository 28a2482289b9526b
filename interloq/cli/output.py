"""What every verb has: common options, bad lines named on standard error, and the exit code that says whether all of
the input was used.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar

from interloq.data.jsonl import SHOWN, Rejected, rejected_path
from interloq.report.console import tell


def add_common(parser: argparse.ArgumentParser) -> None:
    """Options every verb that prints results has."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--strict", action="store_true", help="stop at the first bad line instead of setting it aside")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def add_drop_own_replies(parser: argparse.ArgumentParser) -> None:
    """The option `--drop-own-replies`."""
    parser.add_argument(
        "--drop-own-replies", action="store_true", help="drop the reply that is judged from its references"
    )


def add_without(parser: argparse.ArgumentParser) -> None:
    """The option `--without-system`."""
    parser.add_argument(
        "--without-system", action="append", default=[], metavar="NAME", help="leave a system out; repeat for more"
    )


class BadLines:
    """Names the first bad lines of each file on standard error and counts the rest: an `on_reject` for all readers."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """Bad lines of all files."""
        return self.files.total()

    def __call__(self, rejected: Rejected) -> None:
        self.files[rejected.path] += 1
        left_out()
        if self.files[rejected.path] <= SHOWN:
            tell(f"interloq: set aside: {rejected}")

    def close(self) -> None:
        """Say how many lines of each file were bad, and where they are."""
        for path, count in self.files.items():
            lines = "1 bad line" if count == 1 else f"{count:,} bad lines"
            tell(f"interloq: {lines} of {path} set aside in {rejected_path(path)}")


_left_out: ContextVar[bool] = ContextVar("_left_out", default=False)


def left_out(anything: object = True) -> None:
    """Some of the input was not used, or something failed: the verb finishes with exit code 1."""
    if anything:
        _left_out.set(True)


def exit_code(run: Callable[[], int]) -> int:
    """What `run` returns; where that is 0 although something was left out, 1."""
    token = _left_out.set(False)
    try:
        return run() or int(_left_out.get())
    finally:
        _left_out.reset(token)

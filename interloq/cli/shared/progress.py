# SPDX-License-Identifier: Apache-2.0
"""Progress on standard error: a bar with the remaining time on a terminal, otherwise a line every half minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from interloq.data.progress import Progress, format_duration, silent
from interloq.terminal.console import plain, print_stderr

EVERY = 30.0  # seconds between lines


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
    """The `progress` argument for a stage: bars or lines, or nothing if `quiet`."""
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
        of = f" of {self.total:,}" if self.total else ""
        self._print(f"{self.done:,}{of}", self.done / self.total if self.total else 0.0)

    def reach(self, share: float) -> None:
        self._print(f"{share:.0%}", share)

    def _print(self, reached: str, share: float) -> None:
        now = time.monotonic()
        if now - self.last < EVERY:
            return
        self.last = now
        left = f", about {format_duration((now - self.started) * (1 - share) / share)} left" if 0 < share <= 1 else ""
        print_stderr(f"interloq: {self.label}: {reached}{left}")


def _bars(counter: Any) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), counter, TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)

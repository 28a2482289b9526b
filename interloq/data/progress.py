# SPDX-License-Identifier: Apache-2.0
"""Progress reports of long work: `with progress(label, total) as step: step(n)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeVar

from interloq.data.files.opening import lines

T = TypeVar("T")
Step = Callable[[int], None]
Progress = Callable[[str, int | None], AbstractContextManager[Step]]


def silent(label: str, total: int | None = None) -> AbstractContextManager[Step]:  # noqa: ARG001
    """Show no progress."""
    return nullcontext(lambda _: None)


def count_records(records: Iterable[T], step: Step) -> Iterator[T]:
    """Yield the records and call `step` for each of them."""
    for record in records:
        step(1)
        yield record


def lines_ahead(path: str | Path, progress: Progress) -> int | None:
    """Count the lines to read, if progress is shown; None for a pipe."""
    if progress is silent or str(path) == "-":
        return None
    return sum(1 for _ in lines(path))


def format_duration(seconds: float) -> str:
    """Return a duration for people: `2 h 5 min`, `3 min 20 s`, `4 s`."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {seconds} s"
    return f"{seconds} s"

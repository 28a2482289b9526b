"""How long work says how far it is: `with progress(label, total) as step: step(n)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeVar

from interloq.data.files import lines

T = TypeVar("T")
Step = Callable[[int], None]
Progress = Callable[[str, int | None], AbstractContextManager[Step]]


def silent(label: str, total: int | None = None) -> AbstractContextManager[Step]:  # noqa: ARG001
    """Progress that nobody sees."""
    return nullcontext(lambda _: None)


def counted(records: Iterable[T], step: Step) -> Iterator[T]:
    """The records, each counted as it goes by."""
    for record in records:
        step(1)
        yield record


def lines_ahead(path: str | Path, progress: Progress) -> int | None:
    """How many lines there are to read, where anybody is told; a pipe does not say."""
    return None if progress is silent or str(path) == "-" else sum(1 for _ in lines(path))


def format_duration(seconds: float) -> str:
    """A duration for people: `2 h 5 min`, `3 min 20 s`, `4 s`."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"

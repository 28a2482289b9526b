"""How long work says how far it is: `with progress(label, total) as step: step(n)`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Step = Callable[[int], None]
Progress = Callable[[str, int | None], AbstractContextManager[Step]]


def silent(label: str, total: int | None = None) -> AbstractContextManager[Step]:  # noqa: ARG001
    return nullcontext(lambda _: None)


def said(seconds: float) -> str:
    """A duration for people: `2 h 5 min`, `3 min 20 s`, `4 s`."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"

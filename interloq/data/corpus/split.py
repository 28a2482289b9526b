"""Parts of a corpus by time: what trains an evaluator is older than what tests it, and no thread is in two parts.

Tsuta et al. (2020) train on one year, develop on the next and test on a third. Borders are given as dates, or found so
that the parts have given shares of the threads. A thread that begins before a border and ends after it is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from interloq.data.corpus.clean import NO_TIME
from interloq.data.corpus.times import DAY, SECOND, iso, microseconds
from interloq.errors import InputError

PARTS = ("train", "dev", "test")
Histogram = Callable[[int, int | None, int | None], Sequence[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Split:
    """How a corpus is split; neither shares nor dates leaves it whole."""

    shares: Annotated[tuple[float, ...], "train, dev and test in order of time; empty: no parts"] = (0.8, 0.1, 0.1)
    dev_from: Annotated[str, "date on which dev begins, instead of shares"] = ""
    test_from: Annotated[str, "date on which test begins"] = ""
    unseen: Annotated[bool, "drop posts whose text is in an earlier part"] = False

    def __post_init__(self) -> None:
        if self.shares and (len(self.shares) != 3 or min(self.shares) < 0 or abs(sum(self.shares) - 1) > 1e-9):
            raise InputError(f"shares must be three that add up to 1, got {self.shares}", hint="try 0.8,0.1,0.1")
        if bool(self.dev_from) != bool(self.test_from):
            raise InputError("one border is missing", hint="give both dev_from and test_from, or neither")
        if self.dev_from and microseconds(self.dev_from) > microseconds(self.test_from):
            raise InputError(f"dev would begin at {self.dev_from}, after test at {self.test_from}")

    @property
    def by_time(self) -> bool:
        """Whether parts are split by time."""
        return bool(self.shares or self.dev_from)


def borders(split: Split, histogram: Histogram) -> tuple[int, ...]:
    """The times at which dev and test begin; none where the corpus stays whole."""
    if split.dev_from:
        return microseconds(split.dev_from), microseconds(split.test_from)
    if not split.shares:
        return ()
    return border_at(split.shares[0], histogram), border_at(split.shares[0] + split.shares[1], histogram)


def border_at(share: float, histogram: Histogram) -> int:
    """The second from which on all threads that begin lie behind this share of them.

    `histogram(width, first, last)` counts threads by when they begin, in steps of `width` microseconds between two
    times: days first, then the seconds of one day, so that never more than a few numbers are held.
    """
    days = sorted(histogram(DAY, None, None))
    wanted = share * sum(count for _, count in days)
    day, before = _reached(days, wanted, 0)
    if day is None:
        return (days[-1][0] + 1) * DAY if days else 0
    second, _ = _reached(sorted(histogram(SECOND, day * DAY, (day + 1) * DAY)), wanted, before)
    return (day + 1) * DAY if second is None else second * SECOND


def _reached(steps: Sequence[tuple[int, int]], wanted: float, before: int) -> tuple[int | None, int]:
    """The step in which a sum is passed, and the sum before it."""
    for step, count in steps:
        if before + count > wanted:
            return step, before
        before += count
    return None, before


def shown(at: Sequence[int]) -> dict[str, str]:
    """The borders for people."""
    return {f"{part}_from": iso(time) for part, time in zip(PARTS[1:], at, strict=False) if time != NO_TIME}

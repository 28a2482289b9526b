# SPDX-License-Identifier: Apache-2.0
"""Splitting a corpus by time: training data is older than test data, and no thread is in two parts.

Tsuta et al. (2020) train on one year, develop on the next and test on a third. Borders are given as dates, or chosen so
that the parts have given shares of the threads. A thread that starts before a border and ends after it is dropped.
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
    """How a corpus is split; without shares and dates it is not split."""

    shares: Annotated[tuple[float, ...], "shares of train, dev, test by time; empty: no split"] = (0.8, 0.1, 0.1)
    dev_from: Annotated[str, "date on which dev starts, instead of shares"] = ""
    test_from: Annotated[str, "date on which test starts"] = ""
    unseen: Annotated[bool, "drop posts with a text that is in an earlier part"] = False

    def __post_init__(self) -> None:
        if self.shares and (len(self.shares) != 3 or min(self.shares) < 0 or abs(sum(self.shares) - 1) > 1e-9):
            raise InputError(f"shares must be three that add up to 1, got {self.shares}", hint="try 0.8,0.1,0.1")
        if bool(self.dev_from) != bool(self.test_from):
            raise InputError("one border is missing", hint="give both dev_from and test_from, or neither")
        if self.dev_from and microseconds(self.dev_from) > microseconds(self.test_from):
            raise InputError(f"dev would start at {self.dev_from}, after test at {self.test_from}")

    @property
    def by_time(self) -> bool:
        """Whether the corpus is split by time."""
        return bool(self.shares or self.dev_from)


def borders(split: Split, histogram: Histogram) -> tuple[int, ...]:
    """Return the times at which dev and test start; empty if the corpus is not split."""
    if split.dev_from:
        return microseconds(split.dev_from), microseconds(split.test_from)
    if not split.shares:
        return ()
    return border_at(split.shares[0], histogram), border_at(split.shares[0] + split.shares[1], histogram)


def border_at(share: float, histogram: Histogram) -> int:
    """Return the second before which this share of the threads starts.

    `histogram(width, first, last)` counts threads by their start, in steps of `width` microseconds between two times:
    first days, then the seconds of one day, so that few numbers are kept in memory.
    """
    days = sorted(histogram(DAY, None, None))
    wanted = share * sum(count for _, count in days)
    day, before = _find_step(days, wanted, 0)
    if not days:
        return 0
    if day is None:
        return (days[-1][0] + 1) * DAY
    second, _ = _find_step(sorted(histogram(SECOND, day * DAY, (day + 1) * DAY)), wanted, before)
    if second is None:
        return (day + 1) * DAY
    return second * SECOND


def _find_step(steps: Sequence[tuple[int, int]], wanted: float, before: int) -> tuple[int | None, int]:
    """Return the step at which the running sum passes a value, and the sum before it."""
    for step, count in steps:
        if before + count > wanted:
            return step, before
        before += count
    return None, before


def format_borders(at: Sequence[int]) -> dict[str, str]:
    """Return the borders as text."""
    return {f"{part}_from": iso(time) for part, time in zip(PARTS[1:], at, strict=False) if time != NO_TIME}

"""Axes: round ticks, and where a value lies between two ends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from interloq.report.text import number


@dataclass(frozen=True, slots=True)
class Scale:
    low: float
    high: float
    step: float

    def at(self, value: float, start: float = 0, end: float = 100) -> str:
        """The place of a value; the default is percent of a line's length."""
        return f"{start + (value - self.low) / (self.high - self.low) * (end - start):.1f}"

    def ticks(self) -> list[float]:
        first, last = round(self.low / self.step), round(self.high / self.step)
        return [i * self.step for i in range(first, last + 1)]

    def label(self, value: float) -> str:
        return number(value, max(0, -math.floor(math.log10(self.step) + 1e-9)))


def scale(values: Iterable[float], *, about: int = 5) -> Scale:
    """A scale with round ends that holds all finite values, in `about` steps."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    span = high - low
    if span <= 1e-9 * max(abs(low), abs(high)):  # one value: some room on both sides
        span = abs(high) or 1.0
        low, high = low - span / 2, high + span / 2
    rough = span / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1, 2, 5, 10) if rough <= power * nice * (1 + 1e-9))
    return Scale(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step)

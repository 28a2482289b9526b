# SPDX-License-Identifier: Apache-2.0
"""Axes: round ticks, and positions of values. They work for numbers of any size."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from interloq.report.elements import Tick
from interloq.report.text import number

LARGEST = sys.float_info.max
SMALLEST = 1e-300  # below this, steps underflow: such values are drawn as 0


@dataclass(frozen=True, slots=True)
class AxisScale:
    """An axis with round ends and steps."""

    low: float
    high: float
    step: float

    def at(self, value: float, start: float = 0, end: float = 100) -> str:
        """Position of a value, by default in percent of the axis."""
        share = (value / 2 - self.low / 2) / (
            self.high / 2 - self.low / 2
        )  # halves, because the difference could overflow
        return f"{start + share * (end - start):.1f}"

    def ticks(self) -> list[float]:
        """Values of the ticks."""
        first, last = round(self.low / self.step), round(self.high / self.step)
        return [tick for i in range(first, last + 1) if math.isfinite(tick := i * self.step)]

    def axis(self, start: float, end: float) -> tuple[Tick, ...]:
        """Return the ticks of an axis that is drawn from `start` to `end`."""
        return tuple(Tick(self.at(tick, start, end), self.label(tick)) for tick in self.ticks())

    def label(self, value: float) -> str:
        """A value with as many digits as the step needs."""
        return number(value, max(0, -math.floor(math.log10(self.step) + 1e-9)))


def scale(values: Iterable[float], *, about: int = 5) -> AxisScale:
    """A scale with round ends that includes all finite values, in `about` steps."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    if max(abs(low), abs(high)) < SMALLEST:
        low = high = 0.0
    half = high / 2 - low / 2
    if half <= 0.5e-9 * max(abs(low), abs(high)):  # one value: some room on both sides
        half = abs(high) / 2 or 0.5
        low, high = max(low - half, -LARGEST), min(high + half, LARGEST)
    rough = half / about * 2
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1, 2, 5, 10) if rough <= power * nice * (1 + 1e-9))
    ends = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return AxisScale(max(ends[0], -LARGEST), min(ends[1], LARGEST), step)


def estimates_scale(estimates: Iterable[tuple[float, tuple[float, float] | None]]) -> AxisScale:
    """Return a scale that includes all values and the ends of their intervals."""
    values: list[float] = []
    for value, ci in estimates:
        values += (value, *(ci or ()))
    return scale(values)


def whole_scale(numbers: Sequence[int]) -> AxisScale:
    """A scale with ticks at whole numbers only."""
    if len(set(numbers)) == 1:
        return AxisScale(numbers[0] - 1, numbers[0] + 1, 1)
    step = max(1, round(scale(numbers, about=6).step))
    return AxisScale(min(numbers) // step * step, -(-max(numbers) // step) * step, step)

# SPDX-License-Identifier: Apache-2.0
"""Elements of the page that several sections show, as plain values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Name:
    """A metric: its number in this report and its spec, split where it may wrap."""

    number: int
    head: str
    rest: tuple[str, ...]

    @property
    def spec(self) -> str:
        """The whole spec."""
        return self.head + "".join(self.rest)

    @property
    def short(self) -> str:
        """Its number and the part before the fields."""
        return f"{self.number} {self.head}"


@dataclass(frozen=True, slots=True)
class Mark:
    """How a system is drawn: one of 8 colours and one of 8 shapes."""

    system: str
    colour: int
    shape: int


@dataclass(frozen=True, slots=True)
class Bar:
    """A value with its interval on a line, in percent of the line's width; the ends are empty without an interval."""

    at: str
    low: str = ""
    high: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: str
    label: str


@dataclass(frozen=True, slots=True)
class Folded:
    """A text; the rest of a long one is folded."""

    start: str
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value and its interval, which is empty if there is none."""

    value: str
    interval: str = ""

# SPDX-License-Identifier: Apache-2.0
"""How the page marks what it shows: a number for each metric, a colour and a shape for each system."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from interloq.records import NO_SYSTEM
from interloq.spec_text import split_label

COLOURS = SHAPES = 8


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


def name_metric(spec: str, number: int) -> Name:
    """Split a spec after each bracket and comma, where it may wrap; its head is the label if it has one."""
    fields = r"(?=\()"
    if split_label(spec)[0]:
        fields = r"(?==)"
    head, *rest = re.split(fields, spec, maxsplit=1)
    pieces = re.split(r"(?<=[(,|])", "".join(rest))
    return Name(number, head, tuple(filter(None, pieces)))


def name_metrics(metrics: Iterable[str]) -> dict[str, Name]:
    """Number the metrics in this order."""
    return {metric: name_metric(metric, i) for i, metric in enumerate(metrics, start=1)}


def mark_systems(systems: set[str]) -> dict[str, Mark]:
    """Give each system a colour and a shape; shapes shift after every 8 systems, so 64 systems look different."""
    marks = {}
    for i, system in enumerate([*sorted(systems - {"", NO_SYSTEM}), NO_SYSTEM]):
        marks[system] = Mark(system, i % COLOURS, (i + i // COLOURS) % SHAPES)
    marks[""] = marks[NO_SYSTEM]
    return marks

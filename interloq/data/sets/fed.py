# SPDX-License-Identifier: Apache-2.0
"""FED (Mehri and Eskenazi, 2020): replies of Meena, Mitsuku and people, and whole dialogues, five judgments each.

Replies have nine qualities (`samples`), dialogues eleven (`dialogues`). Answers such as `N/A (no errors)` become None.
There are no references, and the annotators are not identified.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from interloq.data.files.archives import read_files
from interloq.data.sets.items import DatasetItem, as_number, items, slug
from interloq.records import Dialogue, Rating, Sample, Turn

FILES = ("fed_data.json",)
SYSTEM = "System"
_LINE = re.compile(rf"(User|{SYSTEM}):\s*(.*)")


def samples(path: str | Path) -> Iterator[Sample]:
    """Yield the rated replies, each with the dialogue before it."""
    for index, item in _items(path):
        if "response" in item.value:
            system = item.text("system")
            yield Sample(
                id=f"fed/turn/{index}/{slug(system)}",
                context=list(_turns(item, "context")),
                response=" ".join(turn.text for turn in _turns(item, "response")),
                system=system,
                ratings=list(_ratings(item)),
            )


def dialogues(path: str | Path) -> Iterator[Dialogue]:
    """Yield the dialogues rated as a whole."""
    for index, item in _items(path):
        if "response" not in item.value:
            system = item.text("system")
            turns, ratings = list(_turns(item, "context")), list(_ratings(item))
            yield Dialogue(f"fed/dialogue/{index}/{slug(system)}", turns, {SYSTEM: system}, ratings)


def _items(path: str | Path) -> Iterator[tuple[int, DatasetItem]]:
    (file,) = read_files(path, FILES)
    yield from enumerate(items(file))


def _turns(item: DatasetItem, name: str) -> Iterator[Turn]:
    for line in item.text(name).split("\n"):
        match = _LINE.fullmatch(line.strip())
        if match:
            yield Turn(match[2], match[1])
        elif line.strip():
            raise item.error(f"a line of {name!r} has no speaker: {line!r:.60}", "start it with 'User:' or 'System:'")


def _ratings(item: DatasetItem) -> Iterator[Rating]:
    qualities = item.inner("annotations")
    for aspect in qualities.value:
        for value in qualities.sequence(aspect):
            absent = isinstance(value, str) and value.startswith("N/A")
            number = None if absent else as_number(value, aspect, item.where)
            yield Rating(number, aspect=aspect.lower())

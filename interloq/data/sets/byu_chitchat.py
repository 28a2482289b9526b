# SPDX-License-Identifier: Apache-2.0
"""BYU chit-chat (package chitchat_dataset): conversations of two students each, with user ids, times and natural ends.

Read from the package's `dataset.json` (turns are lists of messages, joined here) or from one dialogue per line. Ratings
(witty, upbeat, interesting) do not say which of the two gave them, so they have neither rater nor role.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from interloq.data.archives import DataFile, read_files, text
from interloq.data.sets.items import Item, as_item, json_lines, parsed
from interloq.records import Dialogue, Rating, Turn

FILES = ("dataset.json", "byu_chitchat.jsonl")


def installed() -> Path | None:
    """The file in the installed package."""
    found = find_spec("chitchat_dataset")
    return Path(found.origin).parent / FILES[0] if found and found.origin else None


def dialogues(path: str | Path) -> Iterator[tuple[str, Dialogue]]:
    """The conversations; some have one speaker, because nobody answered."""
    for file in read_files(path, FILES):
        for id, item, turns in _of_package(file) if file.name.endswith(".json") else _of_lines(file):
            yield "all", Dialogue(f"byu_chitchat/{id}", turns, ratings=list(_ratings(item)))


def _of_lines(file: DataFile) -> Iterator[tuple[str, Item, list[Turn]]]:
    for item in json_lines(file):
        turns = [as_item(value, item.where) for value in item.sequence("turns")]
        yield (
            item.text("id"),
            item,
            [Turn(turn.text("text"), turn.text("speaker"), turn.text("time")) for turn in turns],
        )


def _of_package(file: DataFile) -> Iterator[tuple[str, Item, list[Turn]]]:
    for id, value in as_item(parsed(text(file), file.where), file.where).value.items():
        item = as_item(value, f"{file.where}:{id}")
        yield id, item, [_turn(item, messages) for messages in item.sequence("messages") if messages]


def _turn(item: Item, messages: object) -> Turn:
    if not isinstance(messages, list):
        raise item.error(f"a turn must be a list of messages, got {messages!r:.60}")
    found = [as_item(message, item.where) for message in messages]
    texts = " ".join(message.text("text") for message in found)
    return Turn(texts, found[0].text("sender"), found[0].text("timestamp"))


def _ratings(item: Item) -> Iterator[Rating]:
    ratings = item.inner("ratings") if item.value.get("ratings") is not None else None
    for aspect in ratings.value if ratings else ():
        yield Rating(ratings.number(aspect) if ratings else None, aspect=aspect)

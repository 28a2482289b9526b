# SPDX-License-Identifier: Apache-2.0
"""BYU chit-chat (package chitchat_dataset): conversations of two students each, with user ids, times and natural ends.

Read from the package's `dataset.json` (turns are lists of messages, joined here) or from one dialogue per line. Ratings
(witty, upbeat, interesting) do not say which of the two gave them, so they have neither rater nor role.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from interloq.data.files.archives import read_files, text
from interloq.data.files.opening import parse_json
from interloq.data.sets.items import DatasetItem, as_item, json_lines
from interloq.records import Dialogue, Rating, Turn

FILES = ("dataset.json", "byu_chitchat.jsonl")


def find_installed() -> Path | None:
    """Return the file in the installed package."""
    package = find_spec("chitchat_dataset")
    if package is None or not package.origin:
        return None
    return Path(package.origin).parent / FILES[0]


def dialogues(path: str | Path) -> Iterator[tuple[str, Dialogue]]:
    """Yield the conversations; some have one speaker, because nobody answered."""
    for file in read_files(path, FILES):
        if file.name.endswith(".json"):
            for id, value in as_item(parse_json(text(file), file.where), file.where).value.items():
                item = as_item(value, f"{file.where}:{id}")
                turns = [_turn(item, messages) for messages in item.sequence("messages") if messages]
                yield "all", Dialogue(f"byu_chitchat/{id}", turns, ratings=list(_ratings(item)))
        else:
            for item in json_lines(file):
                turns = item.turns("turns", "text", "speaker", "time")
                yield "all", Dialogue(f"byu_chitchat/{item.text('id')}", turns, ratings=list(_ratings(item)))


def _turn(item: DatasetItem, messages: object) -> Turn:
    if not isinstance(messages, list):
        raise item.error(f"a turn must be a list of messages, got {messages!r:.60}")
    parts = [as_item(message, item.where) for message in messages]
    text = " ".join(part.text("text") for part in parts)
    return Turn(text, parts[0].text("sender"), parts[0].text("timestamp"))


def _ratings(item: DatasetItem) -> Iterator[Rating]:
    if item.value.get("ratings") is None:
        return
    ratings = item.inner("ratings")
    for aspect in ratings.value:
        yield Rating(ratings.number(aspect), aspect=aspect)

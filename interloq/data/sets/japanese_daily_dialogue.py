# SPDX-License-Identifier: Apache-2.0
"""Japanese Daily Dialogue (Akama et al., 2023): one file per topic, each a list of dialogues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interloq.data.files.archives import read_files
from interloq.data.sets.items import as_item, items
from interloq.records import Dialogue, Turn

FILES = ("data/topic*.json",)


def dialogues(path: str | Path) -> Iterator[tuple[str, Dialogue]]:
    """Yield the dialogues of JapaneseDailyDialogue."""
    for file in read_files(path, FILES):
        topic = Path(file.name).stem
        for item in items(file):
            turns = []
            for value in item.sequence("utterances"):
                turn = as_item(value, item.where)
                turns.append(Turn(turn.text("utterance"), turn.text("speaker")))
            id = f"japanese_daily_dialogue/{topic}/{item.number('dialogue_id'):.0f}"
            yield "all", Dialogue(id, turns)

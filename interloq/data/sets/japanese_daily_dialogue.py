# SPDX-License-Identifier: Apache-2.0
"""Japanese Daily Dialogue (Akama et al., 2023): one file per topic, each a list of dialogues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interloq.data.files.archives import read_files
from interloq.data.sets.items import items
from interloq.records import Dialogue

FILES = ("data/topic*.json",)


def dialogues(path: str | Path) -> Iterator[tuple[str, Dialogue]]:
    """Yield the dialogues of JapaneseDailyDialogue."""
    for file in read_files(path, FILES):
        topic = Path(file.name).stem
        for item in items(file):
            id = f"japanese_daily_dialogue/{topic}/{item.number('dialogue_id'):.0f}"
            yield "all", Dialogue(id, item.turns("utterances", "utterance", "speaker"))

# SPDX-License-Identifier: Apache-2.0
"""DailyDialog (Li et al., 2017): one dialogue per line, `__eou__` after every utterance; two speakers take turns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interloq.data.files.archives import read_files, text_lines
from interloq.data.sets.items import alternate
from interloq.errors import InputError
from interloq.records import Dialogue

PARTS = {"train": "train", "validation": "dev", "test": "test"}
FILES = tuple(f"{part}/dialogues_{part}.txt" for part in PARTS)
END = "__eou__"


def dialogues(path: str | Path) -> Iterator[tuple[str, Dialogue]]:
    """Yield the dialogues of DailyDialog, each with its part (train, dev or test)."""
    for file in read_files(path, FILES):
        part = next((ours for theirs, ours in PARTS.items() if theirs in file.name), "all")
        for index, line in enumerate(text_lines(file)):
            texts = [text.strip() for text in line.split(END) if text.strip()]
            if END not in line or not texts:
                hint = "name DailyDialog's folder or archive"
                raise InputError(f"not a dialogue: {line!r:.60}", hint=hint, where=f"{file.where}:{index + 1}")
            yield part, Dialogue(f"dailydialog/{part}/{index}", alternate(texts))

# SPDX-License-Identifier: Apache-2.0
"""KdConv (Zhou et al., 2020): Chinese dialogues about films, music and travel; two speakers take turns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from interloq.data.files.archives import read_files
from interloq.data.sets.items import alternate, items
from interloq.records import Dialogue

PARTS = ("train", "dev", "test")
FILES = tuple(f"data/*/{part}.json" for part in PARTS)


def dialogues(path: str | Path) -> Iterator[tuple[str, Dialogue]]:
    """Yield the dialogues of KdConv, each with its part (train, dev or test)."""
    for file in read_files(path, FILES):
        part, domain = PurePosixPath(file.name).stem, PurePosixPath(file.name).parent.name
        for index, item in enumerate(items(file)):
            turns = alternate(message.text("message") for message in item.objects("messages"))
            yield part if part in PARTS else "all", Dialogue(f"kdconv/{domain}/{part}/{index}", turns)

"""Published dialogue corpora, from tiny files in their layouts."""

from __future__ import annotations

from pathlib import Path

from interloq.data.sets.registry import read_parts
from interloq.records import Dialogue
from tests.published_layouts import packed


def write_text(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def both(folder: Path, name: str) -> list[tuple[str, Dialogue]]:
    """The dialogues of a folder, which must be those of its archive."""
    found = list(read_parts(name, folder))
    assert found == list(read_parts(name, packed(folder)))
    return found

"""The corpus KdConv."""

from __future__ import annotations

from pathlib import Path

from interloq.records import Turn
from tests.data.sets.made_sets import both
from tests.published_layouts import write_json


def test_kdconv(tmp_path: Path) -> None:
    folder = tmp_path / "kdconv"
    for part in ("dev", "test"):
        write_json(
            folder / "data" / "film" / f"{part}.json", [{"messages": [{"message": "知道吗？"}, {"message": "嗯"}]}]
        )
    write_json(folder / "data" / "film" / "kb_film.json", {"not": "dialogues"})
    found = both(folder, "kdconv")
    assert [(part, dialogue.id) for part, dialogue in found] == [
        ("dev", "kdconv/film/dev/0"),
        ("test", "kdconv/film/test/0"),
    ]
    assert found[0][1].turns == (Turn("知道吗？", "A"), Turn("嗯", "B"))

"""The corpus Japanese Daily Dialogue."""

from __future__ import annotations

from pathlib import Path

from interloq.records import Dialogue, Turn
from tests.data.sets.made_sets import both
from tests.published_layouts import write_json


def test_japanese_daily_dialogue(tmp_path: Path) -> None:
    folder = tmp_path / "japanese_daily_dialogue"
    turns = [{"turn_num": i + 1, "speaker": "AB"[i], "utterance": text} for i, text in enumerate(["おはよう", "はい"])]
    write_json(folder / "data" / "topic3.json", [{"dialogue_id": 7, "utterances": turns}])
    expected = Dialogue("japanese_daily_dialogue/topic3/7", [Turn("おはよう", "A"), Turn("はい", "B")])
    assert both(folder, "japanese_daily_dialogue") == [("all", expected)]

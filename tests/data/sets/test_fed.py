"""The data set FED."""

from __future__ import annotations

from pathlib import Path

from interloq import Rating, Turn
from interloq.data.sets import fed
from tests.published_layouts import (
    write_fed,
)


def test_fed_turns_and_dialogues(tmp_path: Path) -> None:
    (sample,) = fed.samples(write_fed(tmp_path))
    assert sample.id == "fed/turn/0/Meena"
    assert sample.context == (
        Turn("Hi!", "User"),
        Turn("Hi! What's up?", "System"),
        Turn("Not much: tired", "User"),
    )
    assert (sample.response, sample.system, sample.references) == ("Sleep: it helps.", "Meena", ())
    appropriate = [rating.value for rating in sample.ratings if rating.aspect == "semantically appropriate"]
    assert appropriate == [1.0, None]
    (dialogue,) = fed.dialogues(tmp_path)
    assert dialogue.id == "fed/dialogue/1/Mitsuku"
    assert dialogue.turns == (Turn("Hi", "User"), Turn("Hello.", "System"))
    assert dialogue.systems == {"System": "Mitsuku"}
    assert Rating(None, aspect="error recovery") in dialogue.ratings
    assert {rating.rater for rating in dialogue.ratings} == {""}

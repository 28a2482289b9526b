"""Samples to read: who stands where, and what is folded."""

from __future__ import annotations

import pytest

from interloq import Rating, Sample, Turn
from interloq.meta.disagreements import Disagreement, Disagreements
from interloq.report.elements import Mark, Name
from interloq.report.page import Card
from interloq.report.reading import RECENT, reading


def card(sample: Sample) -> Card:
    found = Disagreement(sample.key, 0.5, 2.0, 9.0, 1.0, 10)
    name, mark = Name(0, "m", ("m",)), Mark("", 0, 0)
    made = reading(name, Disagreements((found,), (), 9), {sample.key: sample}, {"": mark}, "overall")
    assert made.under == ()
    return made.over[0]


@pytest.mark.parametrize(
    ("speakers", "sides"),
    [
        (("", "", ""), ["left", "right", "left"]),
        (("a", "a", "b"), ["right", "right", "left"]),
        (("", ""), ["right", "left"]),
    ],
)
def test_whoever_spoke_last_stands_on_the_left(speakers: tuple[str, ...], sides: list[str]) -> None:
    found = card(Sample("1", [Turn("x", speaker) for speaker in speakers], "y"))
    assert [bubble.side for bubble in found.context] == sides


@pytest.mark.parametrize(("turns", "folded"), [(RECENT, 0), (RECENT + 1, 0), (RECENT + 2, 2)])
def test_earlier_turns_are_folded_if_there_are_several(turns: int, folded: int) -> None:
    found = card(Sample("1", ["x"] * turns, "y"))
    assert (len(found.earlier), len(found.context)) == (folded, turns - folded)


def test_only_ratings_of_the_aspect_are_shown() -> None:
    found = card(Sample("1", (), "y", (), "", [Rating(4), Rating(None, "b"), Rating(1, "c", "fluency")]))
    assert [line.value for line in found.ratings] == ["4", "not applicable"]

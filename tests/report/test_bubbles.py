"""Contexts as bubbles: which side they are on, and what is folded."""

from __future__ import annotations

import pytest

from interloq import Turn
from interloq.report.bubbles import RECENT, bubbles


@pytest.mark.parametrize(
    ("speakers", "sides"),
    [
        (("", "", ""), ["left", "right", "left"]),
        (("a", "a", "b"), ["right", "right", "left"]),
        (("", ""), ["right", "left"]),
    ],
)
def test_whoever_spoke_last_stands_on_the_left(speakers: tuple[str, ...], sides: list[str]) -> None:
    found = bubbles([Turn("x", speaker) for speaker in speakers])
    assert [bubble.side for bubble in found.recent] == sides


@pytest.mark.parametrize(("turns", "folded"), [(RECENT, 0), (RECENT + 1, 0), (RECENT + 2, 2)])
def test_earlier_turns_are_folded_if_there_are_several(turns: int, folded: int) -> None:
    found = bubbles([Turn("x")] * turns)
    assert (len(found.earlier), len(found.recent)) == (folded, turns - folded)

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import Turn
from interloq.errors import count
from interloq.report import text
from interloq.statistics.estimate import Estimate


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [(0.12345, 3, "0.123"), (-0.5, 2, "−0.50"), (-0.0001, 3, "0.000"), (float("nan"), 3, "n/a"), (None, 3, "n/a")],
)
def test_numbers(value: float | None, digits: int, shown: str) -> None:
    assert text.number(value, digits) == shown


def test_signs_intervals_and_p_values() -> None:
    assert [text.format_signed(v, 2) for v in (0.5, -0.5, 0.0, float("nan"))] == ["+0.50", "−0.50", "0.00", "n/a"]
    assert text.interval((-0.1, 0.25)) == "[−0.100, 0.250]"
    assert text.interval(None) == ""
    assert [text.p_value(p) for p in (0.0004, 0.05, 1.0, None)] == ["< .001", ".050", "1.000", "n/a"]
    assert [text.score(v) for v in (0.12344, 12.344, None)] == ["0.1234", "12.34", "n/a"]
    assert text.estimate(Estimate(-0.5, 3, (-1.0, 0.0)), 1) == "−0.5 [−1.0, 0.0]"
    assert [text.estimate(e) for e in (Estimate(math.nan, 0), Estimate(0.5, 1), None)] == ["n/a", "0.500", "n/a"]
    assert [text.duration(s) for s in (59.6, 61, 7260)] == ["1 min 0 s", "1 min 1 s", "2 h 1 min"]
    assert [count(n, "sample") for n in (0, 1, 2000)] == ["0 samples", "1 sample", "2,000 samples"]


@given(st.text(max_size=1500))
def test_folding_loses_nothing(said: str) -> None:
    start, rest = text.fold(said)
    assert start + rest == said
    assert bool(rest) == (len(said) > text.FOLD * 5 // 4)


def test_a_fold_tears_no_emoji_apart() -> None:
    family = "👩\u200d👩\u200d👧\u200d👦"
    for shift in range(8):
        start, rest = text.fold("x" * shift + family * 200)
        assert rest
        assert not start.endswith("\u200d")
        assert not rest.startswith("\u200d")


@given(st.text(), st.integers(2, 80))
def test_a_cut_text_is_a_beginning(said: str, length: int) -> None:
    shown, whole = text.cut(said, length), " ".join(said.split())
    assert len(shown) <= max(length + 1, 1)
    assert shown == whole or (shown.endswith("…") and whole.startswith(shown[:-1].rstrip()))


@given(st.text(st.characters()))
def test_visible_text_can_be_written(said: str) -> None:
    shown = text.visible(said)
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert not any(sign in shown for sign in "\x00\x07\x1b\r\x7f")


def test_broken_surrogates_and_controls_show_as_signs() -> None:
    assert text.visible("a\x00b\ud800c\r\nd") == "a␀b�c\nd"


def test_large_numbers_are_written_with_their_power_of_ten() -> None:
    assert text.score(1e308) == "1e+308"
    assert text.score(-123456789012.0) == f"{text.MINUS}1.235e+11"
    assert text.format_signed(2e12) == "+2e+12"


@pytest.mark.parametrize(
    ("speakers", "sides"),
    [
        (("", "", ""), ["left", "right", "left"]),
        (("a", "a", "b"), ["right", "right", "left"]),
        (("", ""), ["right", "left"]),
    ],
)
def test_whoever_spoke_last_stands_on_the_left(speakers: tuple[str, ...], sides: list[str]) -> None:
    _, recent = text.bubbles([Turn("x", speaker) for speaker in speakers])
    assert [side for side, _ in recent] == sides


@pytest.mark.parametrize(("turns", "folded"), [(3, 0), (4, 0), (5, 2)])
def test_earlier_turns_are_folded_if_there_are_several(turns: int, folded: int) -> None:
    earlier, recent = text.bubbles([Turn("x")] * turns)
    assert (len(earlier), len(recent)) == (folded, turns - folded)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq.errors import count
from interloq.report import text


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [(0.12345, 3, "0.123"), (-0.5, 2, "−0.50"), (-0.0001, 3, "0.000"), (float("nan"), 3, "n/a"), (None, 3, "n/a")],
)
def test_numbers(value: float | None, digits: int, shown: str) -> None:
    assert text.number(value, digits) == shown


def test_signs_intervals_and_p_values() -> None:
    assert [text.signed(v, 2) for v in (0.5, -0.5, 0.0, float("nan"))] == ["+0.50", "−0.50", "0.00", "n/a"]
    assert text.interval((-0.1, 0.25)) == "[−0.100, 0.250]"
    assert text.interval(None) == ""
    assert [text.p_value(p) for p in (0.0004, 0.05, 1.0, None)] == ["< .001", ".050", "1.000", "n/a"]
    assert [text.score(v) for v in (0.12344, 12.344, None)] == ["0.1234", "12.34", "n/a"]
    assert [count(n, "sample") for n in (0, 1, 2000)] == ["0 samples", "1 sample", "2,000 samples"]


@given(st.text())
def test_a_spec_is_only_cut_never_changed(spec: str) -> None:
    name = text.name(spec, 1)
    assert name.spec == spec


def test_a_spec_may_wrap_at_brackets_and_commas() -> None:
    name = text.name("ruber(referenced=bleu(order=2),k=1)", 3)
    assert (name.number, name.head) == (3, "ruber")
    assert name.rest == ("(", "referenced=bleu(", "order=2),", "k=1)")


@given(st.text(max_size=1500))
def test_folding_loses_nothing(said: str) -> None:
    folded = text.folded(said)
    assert folded.start + folded.rest == said
    assert bool(folded.rest) == (len(said) > text.FOLD * 5 // 4)


def test_a_fold_tears_no_emoji_apart() -> None:
    family = "👩\u200d👩\u200d👧\u200d👦"
    for shift in range(8):
        folded = text.folded("x" * shift + family * 200)
        assert folded.rest
        assert not folded.start.endswith("\u200d")
        assert not folded.rest.startswith("\u200d")


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
    assert text.signed(2e12) == "+2e+12"

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from interloq.errors import count
from interloq.report import text
from interloq.report.scale import scale
from interloq.report.scatter import MOST, Drawn, drawn

FINITE = st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-6)


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


@given(st.lists(FINITE, min_size=1, max_size=20), st.integers(2, 8))
def test_a_scale_holds_its_values_between_round_ends(values: list[float], about: int) -> None:
    axis = scale(values, about=about)
    margin = 1e-6 * axis.step
    assert axis.low - margin <= min(values) <= max(values) <= axis.high + margin
    assert all(-0.1 <= float(axis.at(value)) <= 100.1 for value in values)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= about + 3
    assert ticks[0] == pytest.approx(axis.low, abs=margin)
    assert ticks[-1] == pytest.approx(axis.high, abs=margin)
    mantissa = axis.step / 10 ** math.floor(math.log10(axis.step) + 1e-9)
    assert min(abs(mantissa - nice) for nice in (1, 2, 5)) < 1e-6


@given(st.lists(FINITE, min_size=2, max_size=20, unique=True))
def test_a_scale_labels_its_ticks_apart(values: list[float]) -> None:
    assume(max(values) - min(values) > 1e-3 * max(abs(v) for v in values))
    axis = scale(values)
    labels = [axis.label(tick) for tick in axis.ticks()]
    assert len(set(labels)) == len(labels)


EXTREMES = [1e308, -1e308, 1.7e308, -1.7e308, 5e-324, 1e-310, 0.0, 1.0]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(EXTREMES), min_size=1, max_size=5))
def test_no_number_is_too_extreme_for_an_axis(values: list[float]) -> None:
    axis = scale(values)
    assert math.isfinite(axis.low)
    assert math.isfinite(axis.high)
    assert axis.low < axis.high
    assert 1 <= len(axis.ticks()) <= 12
    assert all(-0.1 <= float(axis.at(value)) <= 100.1 for value in values)
    assert all(len(axis.label(tick)) < 320 for tick in axis.ticks())


def test_large_numbers_are_written_with_their_power_of_ten() -> None:
    assert text.score(1e308) == "1e+308"
    assert text.score(-123456789012.0) == f"{text.MINUS}1.235e+11"
    assert text.signed(2e12) == "+2e+12"


def test_a_scale_without_values_is_still_a_scale() -> None:
    axis = scale([float("nan")])
    assert (axis.low, axis.high) == (0, 1)


def test_thinning_keeps_the_same_samples_in_any_order() -> None:
    samples = [Drawn((str(i), ""), "", 0.0) for i in range(MOST + 500)]
    scores = {sample.key: 0.0 for sample in samples}
    kept = drawn(samples, scores)
    assert len(kept) == MOST
    assert drawn(samples[::-1], scores) == kept
    # a hash takes from everywhere, not from one end
    late = sum(int(sample.key[0]) >= len(samples) // 2 for sample in kept)
    assert 0.4 * MOST < late < 0.6 * MOST

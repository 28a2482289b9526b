"""Draws that read the log once, against a sort of everything."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError
from interloq.data.corpus import draw
from interloq.data.corpus.clean import NO_TIME
from interloq.data.corpus.draw import draw_pairs, pair_number, read_date
from interloq.data.corpus.times import SECOND
from interloq.records import Pair

PAIRS = [Pair(f"p{i}", f"utterance {i}\n", f"reply\u2028 {i}", "t", time="2018-01-01T00:00:00Z") for i in range(3_000)]


def _smallest(pairs: list[Pair], n: int, seed: int) -> list[Pair]:
    """Return the n pairs with the smallest numbers, in their order."""
    ordered = sorted(pairs, key=lambda pair: pair_number(pair, seed))
    return [pair for pair in pairs if pair in ordered[:n]]


@pytest.mark.parametrize("n", [1, 10, 500])
@pytest.mark.parametrize("held", [1, 64, 2**16])
def test_the_smallest_numbers_are_drawn(monkeypatch: pytest.MonkeyPatch, n: int, held: int) -> None:
    """`held` decides how often numbers are discarded, and changes nothing."""
    monkeypatch.setattr(draw, "HELD", held)
    assert list(draw_pairs(PAIRS, n, seed=5)) == _smallest(PAIRS, n, 5)


def test_the_order_of_the_log_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "HELD", 8)
    first = set(draw_pairs(PAIRS, 50))
    for seed in range(3):
        shuffled = Random(seed).sample(PAIRS, len(PAIRS))
        assert set(draw_pairs(shuffled, 50)) == first
    assert set(draw_pairs(PAIRS, 50, seed=1)) != first


def test_ids_do_not_matter_because_they_may_be_line_numbers() -> None:
    renamed = [replace(pair, id=str(i)) for i, pair in enumerate(reversed(PAIRS))]
    assert {pair.response for pair in draw_pairs(renamed, 50)} == {pair.response for pair in draw_pairs(PAIRS, 50)}


def test_draws_of_parts_give_the_draw_of_the_whole() -> None:
    parts = [*draw_pairs(PAIRS[:1_000], 50), *draw_pairs(PAIRS[1_000:], 50)]
    assert list(draw_pairs(parts, 50)) == list(draw_pairs(PAIRS, 50))


def test_every_pair_is_drawn_equally_often() -> None:
    """Over 400 seeds, each of 20 pairs is drawn 5/20 of the time: 100 times, with a deviation of 8.7."""
    counts = Counter(pair.id for seed in range(400) for pair in draw_pairs(PAIRS[:20], 5, seed=seed))
    assert len(counts) == 20
    assert all(abs(n - 100) < 4 * 8.7 for n in counts.values())


@given(st.lists(st.sampled_from(PAIRS[:4]), max_size=40), st.integers(1, 50))
def test_equal_pairs_are_drawn_up_to_the_number(pairs: list[Pair], n: int) -> None:
    drawn = list(draw_pairs(pairs, n))
    assert len(drawn) == min(n, len(pairs))
    assert not Counter(drawn) - Counter(pairs)


def test_dates_are_read_and_named() -> None:
    assert read_date("", "--from") == NO_TIME
    assert read_date("1970-01-02", "--from") == 86_400 * SECOND
    with pytest.raises(InputError, match="--from: cannot read the time 'soon'"):
        read_date("soon", "--from")
    with pytest.raises(InputError, match="--from: '2019' is not a date; for example 2019-01-01"):
        read_date("2019", "--from")

"""Which turns a reply is compared with, and how the network reads them."""

from __future__ import annotations

import pytest

from interloq import Sample, Turn
from interloq.scorers.contradiction.turn_pairs import TurnPair, earlier_turns, find_own_turns


def test_the_row_says_who_spoke_and_keeps_the_question() -> None:
    pair = TurnPair("no", "my dog is old", same=True, before="Nice. Any pets?", utterance="And you?")
    assert pair.texts() == ("you: Any pets? me: no", "And you?", "my dog is old")
    assert TurnPair("no", "ok", same=False, before="Any pets?").texts()[0] == "me: Any pets? you: no"
    assert TurnPair("no", "ok", same=True, before="Nice.").texts()[0] == "me: no"


@pytest.mark.parametrize(
    ("speakers", "own"),
    [
        (["", "", ""], [False, True, False]),
        (["", "", "", ""], [True, False, True, False]),
        (["a", "b", "a"], [False, True, False]),
        (["b", "a", "a"], [True, False, False]),  # two turns in a row
        (["a", "a"], [False, False]),  # nobody else has spoken
        (["a", "", "a"], [False, True, False]),
        (["a", "b", "c"], [False, True, False]),  # of three people, the last one before
    ],
)
def test_own_turns(speakers: list[str], own: list[bool]) -> None:
    assert find_own_turns([Turn("hi", speaker) for speaker in speakers]) == own


def test_earlier_turns_skip_blank_ones_and_know_what_is_answered() -> None:
    sample = Sample("a", ["i like tea", " ", "tea?", "and you?"], "never")
    turns = earlier_turns(sample, same_only=False)
    assert [place for place, _ in turns] == [0, 2, 3]
    assert [pair.utterance for _, pair in turns] == ["and you?", "and you?", ""]
    assert [pair.same for _, pair in turns] == [True, True, False]
    assert [place for place, _ in earlier_turns(sample, same_only=True)] == [0, 2]
    assert earlier_turns(Sample("b", [], "never"), same_only=False) == []

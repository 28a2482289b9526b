"""Dialogues that can be labelled, and reasons against it."""

from __future__ import annotations

import pytest

from interloq.data.corpus.clean import NO_TIME
from interloq.records import Dialogue, Turn
from interloq.scorers.interlocutor.two_person import UNUSABLE, alternating, end, fades, start, unusable
from tests.scorers.interlocutor.made_logs import talk

LATE, EARLY = "2018-01-02", "2018-01-01"


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ([Turn("hi", "ann", EARLY), Turn("hey", "bob", LATE)], ""),
        ([Turn("hi", "u1"), Turn("hey", "u2")], ""),
        ([Turn("hi", "ann"), Turn("hey", "")], "no_speaker"),
        ([], "no_speaker"),
        ([Turn("hi", "ann"), Turn("anyone?", "ann")], "one_speaker"),
        ([Turn("hi", "ann"), Turn("hey", "bob"), Turn("yo", "cat")], "several_speakers"),
        ([Turn("hi", "ann"), Turn("hey", "bob"), Turn("back", "Ann_")], "renamed_speaker"),
        ([Turn("hi", "ann"), Turn("brb", "ann|away")], "renamed_speaker"),
        ([Turn("hi", "ann", LATE), Turn("hey", "bob", EARLY)], "backwards"),
        ([Turn("hi", "ann", LATE), Turn("hey", "bob"), Turn("so", "ann", EARLY)], "backwards"),
        ([Turn("hi", "ann", "yesterday"), Turn("hey", "bob", EARLY)], "bad_time"),
    ],
)
def test_reasons(turns: list[Turn], reason: str) -> None:
    assert unusable(Dialogue("d", turns)) == reason
    assert not reason or reason in UNUSABLE


def test_turns_of_one_speaker_in_a_row_are_joined() -> None:
    said = [Turn("hi", "ann", EARLY), Turn("you there?", "ann", LATE), Turn("yes", "bob", LATE)]
    assert alternating(Dialogue("d", said)).turns == (Turn("hi you there?", "ann", EARLY), Turn("yes", "bob", LATE))


def test_start_and_end_are_known_times() -> None:
    dialogue = Dialogue("d", [Turn("a", "ann"), Turn("b", "bob", "1970-01-01T00:00:05Z"), Turn("c", "ann")])
    assert start(dialogue) == end(dialogue) == 5_000_000
    assert start(Dialogue("d", [Turn("a", "ann")])) == NO_TIME


def _with_pauses(*seconds: int) -> Dialogue:
    at, turns = 0, [Turn("0", "ann", "0")]
    for i, pause in enumerate(seconds, 1):
        at += pause
        turns.append(Turn(str(i), ("ann", "bob")[i % 2], str(at)))
    return Dialogue("d", turns)


@pytest.mark.parametrize(
    ("pauses", "falls"),
    [((1, 2, 3), True), ((3, 2, 1), False), ((5, 1, 6, 9), True), ((2, 2, 2), False), ((7,), False), ((), False)],
)
def test_the_reply_rate_falls_if_pauses_grow(pauses: tuple[int, ...], falls: bool) -> None:
    assert fades(_with_pauses(*pauses)) is falls


def test_made_dialogues_are_usable() -> None:
    assert unusable(talk("d", ["ann", "bob", "ann"])) == ""

"""Continuity labels."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from interloq import InputError
from interloq.data.corpus.clean import NO_TIME
from interloq.records import INTERLOCUTOR, Dialogue, Rating, Sample, Turn
from interloq.scorers.interlocutor.continuity_labels import (
    CONTINUED,
    UNUSABLE,
    JudgedTurn,
    SampleSelection,
    continuity,
    cut_ends,
    end,
    fades,
    join_speaker_turns,
    judge_of,
    judges_turns,
    label_turns,
    start,
    unusable,
)
from tests.scorers.interlocutor.made_logs import of_length, talk

LATE, EARLY = "2018-01-02", "2018-01-01"


def _labels(judged: list[JudgedTurn]) -> list[tuple[int, str, bool | None]]:
    return [(each.turn, each.user, each.replied) for each in judged]


def test_inner_replies_are_positive_and_the_last_is_negative() -> None:
    found = continuity([of_length("d", 4)], SampleSelection())
    assert _labels(list(found.judged)) == [(1, "ann", True), (2, "bob", True), (3, "ann", False)]
    sample = found.judged[1].sample()
    assert (sample.id, [turn.text for turn in sample.context], sample.response) == (
        "d#2",
        ["d turn 0", "d turn 1"],
        "d turn 2",
    )
    assert sample.ratings == (Rating(1.0, "bob", "continued", "interlocutor"),)
    assert [turn.text for turn in found.judged[2].sample(context=1).context] == ["d turn 2"]


def test_openings_are_labelled_on_request() -> None:
    dialogues = [of_length("d", 2), talk("alone", ["ann"])]
    assert _labels(list(continuity(dialogues, SampleSelection()).judged)) == [(1, "ann", False)]
    assert continuity(dialogues, SampleSelection()).dropped == {"one_speaker": 1}
    found = continuity(dialogues, SampleSelection(openings=True))
    assert _labels(list(found.judged)) == [(0, "bob", True), (1, "ann", False), (0, "", False)]
    assert found.dropped == {}


def test_an_empty_turn_answers_but_is_not_judged() -> None:
    turns = [Turn("hi", "ann"), Turn("hey", "bob"), Turn(" ", "ann")]
    found = continuity([Dialogue("d", turns)], SampleSelection())
    assert _labels(list(found.judged)) == [(1, "ann", True)]
    assert found.dropped == {"empty_turns": 1}


def test_dropped_dialogues_are_counted_by_reason() -> None:
    dialogues = [
        talk("a", ["ann", "bob", "cat"]),
        talk("b", ["ann", ""]),
        talk("c", ["ann", "ann", "bob"]),
        Dialogue("d", [Turn("x", "ann", "2018-01-02"), Turn("y", "bob", "2018-01-01")]),
    ]
    found = continuity(dialogues, SampleSelection())
    assert _labels(list(found.judged)) == [(1, "ann", False)]
    assert found.dropped == Counter(several_speakers=1, no_speaker=1, merged_turns=1, backwards=1)
    short = continuity(dialogues, SampleSelection(min_turns=3))
    assert short.dropped["short"] == 1
    assert continuity([of_length("e", 5)], SampleSelection(fading=True)).dropped == {"not_fading": 1}


def test_a_shared_beginning_is_labelled_once() -> None:
    """Two branches of one thread: the first reply is one sample, answered twice."""
    first = [Turn("q", "ann", "1"), Turn("a", "bob", "2")]
    branches = [Dialogue(f"q/{end}", [*first, Turn(end, "ann", "3")]) for end in ("x", "y")]
    found = continuity(branches, SampleSelection())
    assert [(each.dialogue.id, each.turn, each.replied) for each in found.judged] == [
        ("q/x", 1, True),
        ("q/x", 2, False),
        ("q/y", 2, False),
    ]
    assert found.dropped == {"repeated_turns": 1}


def test_greetings_without_times_are_not_a_shared_beginning() -> None:
    greeting = [Turn("hi", "ann"), Turn("hey", "bob")]
    found = continuity([Dialogue("1", greeting), Dialogue("2", [*greeting, Turn("so?", "ann")])], SampleSelection())
    assert _labels(list(found.judged)) == [(1, "ann", False), (1, "ann", True), (2, "bob", False)]


def test_systems_keep_their_name_and_do_not_judge() -> None:
    dialogue = Dialogue("d", [Turn("hi", "ann"), Turn("hello", "bot"), Turn("bye", "ann")], {"bot": "GPT-4"})
    assert _labels(list(continuity([dialogue], SampleSelection()).judged)) == [(1, "ann", True)]
    dialogue = Dialogue("d", [Turn("hi", "user"), Turn("hello", "bot")], {"bot": "GPT-4"})
    assert [each.sample().system for each in label_turns(dialogue)] == ["", "GPT-4"]


def test_ends_made_by_the_collector_are_refused_unless_the_user_insists() -> None:
    dialogues = [of_length(f"d{i}", 30) for i in range(47)] + [of_length(f"e{i}", 10 + i) for i in range(3)]
    with pytest.raises(InputError, match=r"47 of 50 dialogues \(94%\) end after exactly 30 turns.*not valid labels"):
        continuity(dialogues, SampleSelection())
    found = continuity(dialogues, SampleSelection(cut_ends=True))
    assert found.cut
    assert found.cut.turns == 30
    assert len(found.judged) == 47 * 29 + 9 + 10 + 11


def test_who_judges_a_sample() -> None:
    context = [Turn("hi", "bot"), Turn("hey", "ann")]
    assert judge_of(Sample("1", context, "so?", system="bot")) == "ann"
    assert judge_of(Sample("1", context, "so?", ratings=[Rating(1, "bob", role="interlocutor")])) == "bob"
    assert judge_of(Sample("1", ["hi"], "so?")) == ""


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"min_conversations": -1}, "min_conversations must not be negative, got -1"),
        ({"min_turns": 0}, "min_turns must be at least 1, got 0"),
        ({"min_conversations": 30, "max_conversations": 20}, "at least 30 conversations, but at most 20"),
        ({"dev": 0.5, "test": 0.5}, "shares below 1 in total"),
        ({"dev": float("nan")}, "shares below 1 in total"),
    ],
)
def test_impossible_selections(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SampleSelection(**wrong)  # type: ignore[arg-type]


def test_the_turns_of_the_judge() -> None:
    turns = [Turn("tea ?", "bob"), Turn("rain .", "ann"), Turn("so ?", "bob")]
    named = Sample("1", turns, "d", ratings=[Rating(1, "bob", CONTINUED, INTERLOCUTOR)])
    assert judges_turns(named) == [True, False, True]
    assert judges_turns(Sample("1", ["a", "b", "c"], "d")) == [True, False, True]  # without names: in turns
    renamed = Sample("1", turns, "d", ratings=[Rating(4, "u17", "impression", INTERLOCUTOR)])
    assert judges_turns(renamed) == [True, False, True]  # the rater is none of the speakers
    twice = [Turn("a", "bot"), Turn("b", "ann"), Turn("c", "bot")]
    assert judges_turns(Sample("1", twice, "d", system="bot")) == [False, True, False]


def _natural(ending: float, *, first: int = 2, n: int = 2_000) -> list[int]:
    """Lengths of dialogues of which the same share ends after every turn."""
    return [int(length) for length in np.random.default_rng(0).geometric(ending, n) + first - 1]


@pytest.mark.parametrize(
    ("lengths", "turns"),
    [
        *((_natural(ending), None) for ending in (0.03, 0.15, 0.5, 0.71)),
        ([2] * 40, 2),
        ([min(length, 20) for length in _natural(0.04)], 20),  # a limit that half of them reach
        ([30] * 19, None),  # few dialogues prove nothing
        ([30] * 20, 30),
        ([*range(2, 52)] * 19 + [100] * 50, 100),  # 5 % of all
        ([*range(2, 52)] * 19 + [100] * 49, None),
        ([30] * 30 + [*range(31, 61)], 30),  # half of those that reach it
        ([30] * 29 + [*range(31, 61)], None),
        ([2] * 32 + [3] * 90 + [4] * 10, 3),  # .900 end there, and .296 elsewhere
        ([2] * 33 + [3] * 90 + [4] * 10, None),  # .301 elsewhere
        ([], None),
    ],
)
def test_ends_are_cut_if_too_many_dialogues_have_one_length(lengths: list[int], turns: int | None) -> None:
    found = cut_ends(lengths)
    assert (found.turns if found else None) == turns


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
    assert join_speaker_turns(Dialogue("d", said)).turns == (
        Turn("hi you there?", "ann", EARLY),
        Turn("yes", "bob", LATE),
    )


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

"""Limits per user and splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from interloq import InputError
from interloq.data.corpus.times import DAY, iso
from interloq.records import Dialogue, Sample, Turn
from interloq.scorers.interlocutor.continuity_labels import JudgedTurn, SampleSelection, continuity
from interloq.scorers.interlocutor.parts import along, conversations_by_user, limit_conversations, split
from tests.scorers.interlocutor.made_logs import log, talk

ALL = SampleSelection(min_conversations=0, max_conversations=0, cut_ends=True)


def _judged(dialogues: Sequence[Dialogue]) -> Sequence[JudgedTurn]:
    return continuity(dialogues, ALL).judged


def _dialogues(parts: Mapping[str, Sequence[JudgedTurn]]) -> dict[str, set[str]]:
    return {part: {each.dialogue.id for each in judged} for part, judged in parts.items()}


def test_conversations_with_somebody_else_are_counted() -> None:
    found = conversations_by_user(continuity([*log(6), talk("alone", ["dan"])], replace(ALL, openings=True)).judged)
    assert {user: len(ids) for user, ids in found.items()} == {"ann": 6, "bob": 3, "cat": 3}


def test_users_with_few_conversations_judge_nothing() -> None:
    dropped = Counter[str]()
    kept = limit_conversations(_judged(log(6)), SampleSelection(min_conversations=4), dropped)
    assert {each.user for each in kept} == {"ann"}
    assert dropped == {"users_with_few_conversations": 2, "turns_over_the_limits": 1 + 1 + 2 + 2 + 1 + 1}


def test_the_same_conversations_are_drawn_whatever_the_order_and_the_names() -> None:
    selection = SampleSelection(min_conversations=2, max_conversations=2)

    def drawn(dialogues: Sequence[Dialogue]) -> set[str]:
        kept = limit_conversations(_judged(dialogues), selection, Counter())
        return {each.dialogue.id for each in kept if each.user.lower() == "ann"}

    first = drawn(log(9))
    renamed = [
        replace(dialogue, turns=tuple(replace(turn, speaker=turn.speaker.upper()) for turn in dialogue.turns))
        for dialogue in reversed(log(9))
    ]
    assert len(first) == 2
    assert drawn(renamed) == first
    others = [drawn_with for seed in range(1, 6) if (drawn_with := _seeded(seed)) != first]
    assert others, "another seed draws others"


def _seeded(seed: int) -> set[str]:
    selection = SampleSelection(min_conversations=2, max_conversations=2, seed=seed)
    return {
        each.dialogue.id for each in limit_conversations(_judged(log(9)), selection, Counter()) if each.user == "ann"
    }


def test_the_latest_dialogues_are_tested() -> None:
    parts = split(_judged(list(reversed(log(10)))), ALL, Counter())
    assert _dialogues(parts) == {"train": {f"d{i}" for i in range(8)}, "dev": {"d8"}, "test": {"d9"}}


def test_a_dialogue_over_a_border_and_one_without_times_fit_no_part() -> None:
    first, *others = log(10)
    last = replace(first.turns[-1], time=iso(100 * DAY))
    crossing = replace(first, turns=(*first.turns[:-1], last))
    timeless = Dialogue("timeless", [Turn("a", "ann"), Turn("b", "bob")])
    dropped = Counter[str]()
    parts = split(_judged([crossing, *others, timeless]), ALL, dropped)
    assert "d0" not in set().union(*_dialogues(parts).values())
    assert dropped == {"turns_crossing_parts": 2, "turns_without_time": 1}
    with pytest.raises(InputError, match="no dialogue has times; split by user"):
        split(_judged([timeless]), ALL, Counter())


def test_the_latest_dialogues_of_each_user_are_tested() -> None:
    early = [talk(f"e{day}", ("dan", "eve") * 2, day=day + 1) for day in range(10)]
    late = [talk(f"l{day}", ("fay", "gus") * 2, day=day + 101) for day in range(10)]
    parts = split(_judged([*early, *late]), replace(ALL, by="own-time"), Counter())
    assert _dialogues(parts)["test"] == {"e9", "l9"}
    assert {each.user for each in parts["test"]} == {"dan", "eve", "fay", "gus"}
    assert len(_dialogues(parts)["train"]) == 16


def test_a_dialogue_of_two_users_is_in_one_part() -> None:
    """Ann's last dialogue is bob's first: it is tested for both, and trained on by nobody."""
    dialogues = [talk(f"a{day}", ("ann", "cat") * 2, day=day + 1) for day in range(9)]
    dialogues += [talk("both", ("ann", "bob") * 2, day=20)]
    dialogues += [talk(f"b{day}", ("dan", "bob") * 2, day=day + 30) for day in range(9)]
    parts = _dialogues(split(_judged(dialogues), replace(ALL, by="own-time"), Counter()))
    assert "both" in parts["test"]
    assert not parts["test"] & parts["train"]


def test_users_are_held_out() -> None:
    dialogues = [talk(f"d{i}", (f"u{i % 10}", f"u{(i + 1) % 10}") * 2) for i in range(40)]
    dropped = Counter[str]()
    parts = split(_judged(dialogues), replace(ALL, by="user"), dropped)
    users = {part: {each.user for each in judged} for part, judged in parts.items()}
    assert (len(users["train"]), len(users["dev"]), len(users["test"])) == (8, 1, 1)
    assert not users["train"] & users["test"]
    names = _dialogues(parts)
    assert not names["train"] & names["test"]
    assert dropped["turns_crossing_parts"] + sum(map(len, parts.values())) == len(_judged(dialogues))


def test_unknown_judges_are_kept() -> None:
    judged = continuity([talk("alone", ["ann"], day=1), *log(10)], replace(ALL, openings=True)).judged
    assert "alone" in _dialogues(split(judged, replace(ALL, by="user"), Counter()))["train"]
    assert "" in {each.user for each in limit_conversations(judged, SampleSelection(min_conversations=11), Counter())}


@pytest.mark.parametrize(("n", "expected"), [(10, (8, 1, 1)), (84, (67, 9, 8)), (3, (2, 1, 0)), (1, (1, 0, 0))])
def test_a_dialogue_is_cut_along_its_course(n: int, expected: tuple[int, ...]) -> None:
    def samples(name: str) -> list[Sample]:
        return [Sample(f"{name}#{i}", [f"{j}" for j in range(i)], "x", dialogue=name) for i in range(n)]

    parts = along(reversed([*samples("a"), *samples("b")]), ALL)
    assert tuple(len(found) for found in parts.values()) == tuple(2 * size for size in expected)
    order: list[Any] = [len(s.context) for part in parts.values() for s in part if s.id.startswith("a#")]
    assert order == list(range(n))

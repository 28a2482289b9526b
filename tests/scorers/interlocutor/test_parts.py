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
from interloq.scorers.interlocutor.parts import (
    along,
    balance,
    conversations_by_user,
    limit_conversations,
    select_parts,
    split,
)
from interloq.signature import fingerprint
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


# ---- limits that are counted in the training period ------------------------------------------------------------------


def _users(judged: Sequence[JudgedTurn]) -> set[str]:
    return {each.user for each in judged}


def test_conversations_are_counted_in_train() -> None:
    """Of 20 conversations, 16 are in train: ann has 16 there, bob and cat 8 each; counted in all they have 10."""
    judged, dropped = _judged(log(20)), Counter[str]()
    selection = replace(ALL, min_conversations=9)
    parts = select_parts(judged, selection, dropped)
    assert {part: _users(turns) for part, turns in parts.items()} == {part: {"ann"} for part in parts}
    assert dropped["users_with_few_conversations"] == 2
    assert dropped["turns_over_the_limits"] == len(judged) - sum(map(len, parts.values()))
    in_all = select_parts(judged, replace(selection, count_in="all"), Counter())
    assert _users(in_all["train"]) == {"ann", "bob", "cat"}
    assert not any(select_parts(judged, replace(ALL, min_conversations=17), Counter()).values())


def test_only_conversations_in_train_are_limited() -> None:
    judged = _judged(log(20))
    parts = select_parts(judged, replace(ALL, max_conversations=3), Counter())
    assert len({each.dialogue.id for each in parts["train"] if each.user == "ann"}) == 3
    assert parts["test"] == split(judged, ALL, Counter())["test"]


def test_held_out_users_are_counted_in_all_parts() -> None:
    dialogues = [talk(f"d{i}", (f"u{i % 10}", f"u{(i + 1) % 10}") * 2) for i in range(40)]
    parts = select_parts(_judged(dialogues), replace(ALL, min_conversations=8, by="user"), Counter())
    assert len(_users(parts["test"])) == 1


def test_users_are_drawn_whatever_their_names_and_order() -> None:
    dialogues = [talk(f"d{i}", (f"u{i % 10}", f"u{(i + 1) % 10}") * 2, day=i + 1) for i in range(100)]
    selection, dropped = replace(ALL, draw_users=3), Counter[str]()

    def draw(found: Sequence[Dialogue], seed: int = 0) -> set[str]:
        parts = select_parts(_judged(found), replace(selection, seed=seed), dropped)
        return {user.lower() for turns in parts.values() for user in _users(turns)}

    first = draw(dialogues)
    assert len(first) == 3
    assert dropped["users_not_drawn"] == 7
    renamed = []
    for dialogue in reversed(dialogues):
        turns = tuple(replace(turn, speaker=turn.speaker.upper()) for turn in dialogue.turns)
        renamed.append(replace(dialogue, turns=turns))
    assert draw(renamed) == first
    assert any(draw(dialogues, seed) != first for seed in range(1, 4))
    with pytest.raises(InputError, match="11 users were asked for, but only 10 have enough conversations"):
        select_parts(_judged(dialogues), replace(selection, draw_users=11), Counter())


def test_parts_begin_at_dates() -> None:
    selection = replace(ALL, dev_from="1970-01-06", test_from="1970-01-08")
    parts = _dialogues(split(_judged(log(9)), selection, Counter()))
    assert parts == {"train": {f"d{i}" for i in range(4)}, "dev": {"d4", "d5"}, "test": {"d6", "d7", "d8"}}


@pytest.mark.parametrize(
    "dates",
    [{"dev_from": "2018-01-01"}, {"dev_from": "2018-02-01", "test_from": "2018-01-01"},
     {"dev_from": "2018-01-01", "test_from": "2018-02-01", "by": "user"}],
)  # fmt: skip
def test_dates_that_split_nothing_are_refused(dates: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"cannot split by (time|user) at the dates"):
        replace(ALL, **dates)
    with pytest.raises(InputError, match="dev_from: cannot read the time 'soon'"):
        replace(ALL, dev_from="soon", test_from="2018-01-01")


# ---- the share of answered replies -----------------------------------------------------------------------------------


def _labels(judged: Sequence[JudgedTurn]) -> dict[bool | None, int]:
    return dict(Counter(each.replied for each in judged))


def test_replies_are_drawn_to_a_share_of_answered_ones() -> None:
    """Five dialogues of 20 turns have 90 answered replies and 5 last ones."""
    judged = _judged([talk(f"d{i}", ("ann", "bob") * 10) for i in range(5)])
    drawn = balance(judged, replace(ALL, balance=0.58))
    assert _labels(drawn) == {True: round(5 * 0.58 / 0.42), False: 5}
    assert balance(judged[::-1], replace(ALL, balance=0.58)) == drawn[::-1]
    assert balance(judged, replace(ALL, balance=0.58, seed=1)) != drawn
    inner = sorted((f"{e.dialogue.id}#{e.turn}" for e in judged if e.replied), key=fingerprint)
    assert {f"{e.dialogue.id}#{e.turn}" for e in drawn if e.replied} == set(inner[:7]), "as the recipe drew them before"


def test_last_replies_are_drawn_if_too_few_were_answered() -> None:
    judged = _judged([talk(f"d{i}", ("ann", "bob", "ann")) for i in range(30)])
    assert _labels(judged) == {True: 30, False: 30}
    assert _labels(balance(judged, replace(ALL, balance=0.75))) == {True: 30, False: 10}


def test_a_part_of_one_class_cannot_be_balanced() -> None:
    judged = _judged([talk("d", ("ann", "bob"))])
    with pytest.raises(InputError, match="no reply in test was answered, so test cannot be balanced"):
        balance(judged, replace(ALL, balance=0.5), "test")
    with pytest.raises(InputError, match="must be below 1"):
        replace(ALL, balance=1.0)


def test_training_may_keep_every_reply() -> None:
    dialogues = [talk(f"d{i}", ("ann", "bob") * 10, day=i + 1) for i in range(20)]
    selection, dropped = replace(ALL, balance=0.5, balanced="tested"), Counter[str]()
    parts = select_parts(_judged(dialogues), selection, dropped)
    assert _labels(parts["train"]) == {True: 16 * 18, False: 16}
    assert _labels(parts["test"]) == {True: 2, False: 2}
    assert dropped["turns_over_the_balance"] == 2 * (2 * 19 - 4)

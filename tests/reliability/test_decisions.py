from __future__ import annotations

from typing import Any

import pytest

from interloq import InputError, Reference
from interloq.reliability.augment import Request
from interloq.reliability.decisions import DecisionStep, Progress, apply, start

OPTIONS: dict[str, Any] = {"attempts": 2, "limit": 3}


def begun(references: list[str], candidates: list[str], turns: tuple[str, ...] = ("tea ?",)) -> Progress:
    found = tuple(Reference(text, source=f"retrieved:{i}") for i, text in enumerate(candidates))
    return start(Request(turns, tuple(Reference(text) for text in references), found), **OPTIONS)


def after(state: Progress, *steps: tuple[str, str]) -> Progress:
    for action, text in steps:
        state = apply(state, DecisionStep("q", action, text), **OPTIONS)  # type: ignore[arg-type]
    return state


def test_candidates_are_offered_in_the_order_given_without_repetitions() -> None:
    state = begun(["tea"], ["pot", " tea ", "cup", "", "pot"])
    assert [one.text for one in state.waiting] == ["pot", "cup"]
    assert not state.finished


def test_keep_edit_abandon_and_choose() -> None:
    state = after(begun(["tea"], ["pot", "cup", "sip"]), ("choose", "sip"), ("edit", "a sip"), ("keep", "a sip"))
    assert [(one.text, one.source) for one in state.added] == [("a sip", "human")]
    assert [one.text for one in state.waiting] == ["pot", "cup"]
    assert state.attempts == 2
    state = after(state, ("abandon", "pot"))
    assert [one.text for one in state.waiting] == ["cup"]
    state = after(state, ("keep", "cup"))
    assert [(one.text, one.source) for one in state.added] == [("a sip", "human"), ("cup", "retrieved:1")]
    assert state.finished  # three references


def test_a_kept_text_is_not_offered_again() -> None:
    state = after(begun([], ["pot", "cup"]), ("edit", "cup"), ("keep", "cup"))
    assert state.finished
    assert len(state.added) == 1


@pytest.mark.parametrize(
    ("references", "candidates", "turns"),
    [(["a", "b", "c"], ["pot"], ("tea",)), (["a"], [], ("tea",)), ([], ["pot"], (" ",))],
)
def test_nothing_to_decide(references: list[str], candidates: list[str], turns: tuple[str, ...]) -> None:
    assert begun(references, candidates, turns).finished


@pytest.mark.parametrize(
    ("steps", "what"),
    [
        ([("edit", "a"), ("edit", "b"), ("edit", "c")], "no edits are left"),
        ([("edit", " ")], "empty or unchanged"),
        ([("edit", "pot ")], "empty or unchanged"),
        ([("edit", "tea")], "already a reference"),
        ([("keep", "cup")], "the candidate is 'pot', not 'cup'"),
        ([("choose", "other")], "no candidate 'other'"),
        ([("next", ""), ("keep", "pot")], "is finished"),
    ],
)
def test_impossible_steps_are_refused(steps: list[tuple[str, str]], what: str) -> None:
    with pytest.raises(InputError, match=what):
        after(begun(["tea"], ["pot", "cup"]), *steps)

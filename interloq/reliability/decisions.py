# SPDX-License-Identifier: Apache-2.0
"""Decisions of a person who annotates a query, as a pure function from a state and a step to the next state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from interloq.errors import InputError, short_repr
from interloq.records import Reference
from interloq.reliability.augment import Request

Action = Literal["keep", "edit", "abandon", "choose", "next"]


@dataclass(frozen=True, slots=True)
class DecisionStep:
    """One decision: the candidate as it was kept, edited to, abandoned or chosen, and the predictions shown."""

    query: str
    action: Action
    text: str = ""
    source: str = ""
    before: float | None = None
    after: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """State of one query: candidates left (the first is offered), references added, and edits left."""

    request: Request
    waiting: tuple[Reference, ...]
    attempts: int
    added: tuple[Reference, ...] = ()
    finished: bool = False

    def texts(self) -> tuple[str, ...]:
        """Distinct texts of all references, given and added."""
        return (*self.request.known(), *(reference.text.strip() for reference in self.added))


def start(request: Request, *, attempts: int, limit: int) -> Progress:
    """State of a query before the first step; candidates are in the order given."""
    order = {id(candidate): i for i, candidate in enumerate(request.candidates)}
    waiting = tuple(sorted(request.new(), key=lambda candidate: order[id(candidate)]))
    return _checked(Progress(request, waiting, attempts), limit)


def apply(state: Progress, step: DecisionStep, *, attempts: int, limit: int) -> Progress:
    """State of a query after a step; a step that is impossible in this state is refused."""
    if state.finished:
        raise InputError(f"query {step.query!r} is finished", hint="continue with the next query")
    if step.action == "next":
        return replace(state, finished=True)
    if step.action == "edit":
        return _edited(state, step.text)
    if step.action == "choose":
        chosen = [one for one in state.waiting if one.text == step.text]
        if not chosen:
            raise InputError(f"no candidate {short_repr(step.text)}", hint="choose one of those left")
        others = tuple(one for one in state.waiting if one is not chosen[0])
        return replace(state, waiting=(chosen[0], *others), attempts=attempts)
    first = state.waiting[0]
    if step.text != first.text:
        raise InputError(f"the candidate is {short_repr(first.text)}, not {short_repr(step.text)}")
    added = (*state.added, first) if step.action == "keep" else state.added
    rest = tuple(one for one in state.waiting[1:] if one.text.strip() != first.text.strip())
    return _checked(replace(state, waiting=rest, added=added, attempts=attempts), limit)


def _edited(state: Progress, text: str) -> Progress:
    text = text.strip()
    if not state.attempts:
        raise InputError("no edits are left for this candidate", hint="keep or abandon it")
    if not text or text == state.waiting[0].text.strip():
        raise InputError("the edited text is empty or unchanged", hint="write another text, or keep or abandon it")
    if text in state.texts():
        raise InputError(f"{short_repr(text)} is already a reference", hint="write another text")
    edited = Reference(text, source="human")
    return replace(state, waiting=(edited, *state.waiting[1:]), attempts=state.attempts - 1)


def _checked(state: Progress, limit: int) -> Progress:
    """The state, finished if there are enough references or no candidates."""
    return replace(state, finished=len(state.texts()) >= limit or not state.waiting)

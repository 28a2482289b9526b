# SPDX-License-Identifier: Apache-2.0
"""References that people add: each decision is a step, stored before it counts.

The state of an item is computed from its steps by `reliability/annotate.py`, as in the terminal. Steps are only added,
each at its own place, so two tabs or a request that is sent twice cannot store a step twice.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from interloq.errors import InputError
from interloq.learn.ready import READY
from interloq.records import Reference
from interloq.reliability.annotate import Action, DecisionStep, QueryState, apply_step, start_query
from interloq.reliability.augment import Request
from interloq.reliability.reliability_options import GROUPS
from interloq.web.database import make_storable
from interloq.web.references.references_task import KIND, ReferencesOptions, make_stored_request, references_options
from interloq.web.schema import assignment, draft, invitation, item, step
from interloq.web.schema import person as person_table
from interloq.web.studies.questions import StudyTask
from interloq.web.work.assign import note_work

LONGEST_REFERENCE = 2_000  # characters
ELSEWHERE = "this item was continued elsewhere, perhaps in another tab"


@dataclass(frozen=True)
class ReferenceDecision:
    """What a person decides: `text` is an edited text, `candidate` the index of the chosen candidate."""

    action: Action
    text: str = ""
    candidate: int = 0


@dataclass(frozen=True)
class Work:
    """An item assigned to a person, with the steps so far."""

    assignment: int
    person: int
    item: int
    query: str  # an id, never shown
    request: Request
    steps: tuple[DecisionStep, ...]
    options: ReferencesOptions
    group: str = GROUPS[0]

    @property
    def is_assisted(self) -> bool:
        """Whether the person sees predictions."""
        return self.group == GROUPS[0]

    @property
    def must_rise(self) -> bool:
        """Whether the person can keep only candidates that raise the prediction."""
        return self.options.must_rise and self.is_assisted

    @cached_property
    def state(self) -> QueryState:
        """The state after all steps."""
        return self.state_at(len(self.steps))

    def state_at(self, place: int) -> QueryState:
        """Return the state after the first steps."""
        state = start_query(self.request, **self.options.rules)
        for step_taken in self.steps[:place]:
            state = apply_step(state, step_taken, **self.options.rules)
        return state

    def show(self) -> dict[str, Any]:
        """Return the state as the page sees it: texts without their sources."""
        state = self.state
        given, own = len(self.request.list_known_texts()), [reference.source == "human" for reference in state.added]
        return {
            "place": len(self.steps),
            "references": [
                {"text": text, "added": i >= given, "edited": i >= given and own[i - given]}
                for i, text in enumerate(state.texts())
            ],
            "candidates": [
                {"text": candidate.text, "edited": candidate.source == "human"} for candidate in state.waiting
            ],
            "attempts": state.attempts,
            "room": self.options.limit - len(state.texts()),
            "finished": state.finished,
            "assisted": self.is_assisted,
            "must_rise": self.must_rise,
            "fit": self.options.model == READY,
        }


def get_work(
    connection: Connection, settings: StudyTask, person: int, assignment_id: int, *, lock: bool = False
) -> Work:
    """Return an item of this person; `lock` makes others wait until the transaction ends."""
    wanted = (
        select(assignment, item.c.hidden, person_table.c.number)
        .join(item, item.c.id == assignment.c.item_id)
        .join(person_table, person_table.c.id == assignment.c.person_id)
        .where(assignment.c.id == assignment_id, assignment.c.person_id == person)
    )
    row = connection.execute(wanted.with_for_update(of=assignment) if lock else wanted).one_or_none()
    if row is None or settings.kind != KIND:
        raise InputError("this item belongs to somebody else", hint="reload the page")
    return load_work(connection, references_options(settings), row)


def load_work(connection: Connection, options: ReferencesOptions, row: Any) -> Work:
    """Return the work on an assignment, from its row with the item's `hidden` part and the person's number."""
    bodies = connection.execute(select(step.c.body).where(step.c.assignment_id == row.id).order_by(step.c.place))
    steps = tuple(DecisionStep(**body) for body in bodies.scalars())
    return Work(
        row.id, row.person_id, row.item_id, row.hidden["query"], make_stored_request(row.hidden), steps, options,
        options.group(row.number),
    )  # fmt: skip


def number_person(connection: Connection, settings: StudyTask, task: int, person: int) -> None:
    """Give a person the next number in the task, which decides on their group; numbers are never changed."""
    if references_options(settings).predictions != "groups":
        return
    of_task = select(invitation.c.id).where(invitation.c.task_id == task)
    last = select(func.max(person_table.c.number)).where(person_table.c.invitation_id.in_(of_task))
    number = (connection.execute(last).scalar() or 0) + 1
    unnumbered = (person_table.c.id == person) & person_table.c.number.is_(None)
    connection.execute(update(person_table).where(unnumbered).values(number=number))


def make_step(work: Work, place: int, decision: ReferenceDecision) -> DecisionStep:
    """Return the step for a decision at a place, without predictions; an impossible decision is refused."""
    if not 0 <= place <= len(work.steps):
        raise InputError(ELSEWHERE, hint="reload the page")
    state = work.state_at(place)
    if state.finished:  # reported here without the query, which is an id
        raise InputError("this item is finished", hint="reload the page for the next one")
    shown = _find_reference(state.waiting, decision)
    made = DecisionStep(work.query, decision.action, shown.text, shown.source)
    if place < len(work.steps):
        if replace(work.steps[place], before=None, after=None) != made:
            raise InputError(ELSEWHERE, hint="reload the page")
        return work.steps[place]
    apply_step(state, made, **work.options.rules)
    return made


def _find_reference(waiting: Sequence[Reference], decision: ReferenceDecision) -> Reference:
    if decision.action == "edit":
        text = make_storable(decision.text).strip()
        if len(text) > LONGEST_REFERENCE:
            raise InputError(f"a reference has at most {LONGEST_REFERENCE:,} characters, got {len(text):,}")
        return Reference(text, source="human")
    place = decision.candidate if decision.action == "choose" else 0
    if place >= len(waiting):
        raise InputError(ELSEWHERE, hint="reload the page")
    return waiting[place]


def take_step(
    connection: Connection,
    settings: StudyTask,
    person: int,
    assignment_id: int,
    place: int,
    decision: ReferenceDecision,
    predicted: Mapping[str, float | None],
) -> Work:
    """Store a decision as the step at `place`, with predictions before and after; the same step may be sent again."""
    work = get_work(connection, settings, person, assignment_id, lock=True)
    before, after = predicted.get("before"), predicted.get("after")
    made = replace(make_step(work, place, decision), before=before, after=after)
    if place < len(work.steps):
        return work
    row = {"assignment_id": assignment_id, "place": place, "body": asdict(made), "time": time.time()}
    connection.execute(insert(step).values(**row))
    done = replace(work, steps=(*work.steps, made))
    note_work(connection, assignment_id, finished=done.state.finished)
    if done.state.finished:
        connection.execute(delete(draft).where(draft.c.assignment_id == assignment_id))
    return done

# SPDX-License-Identifier: Apache-2.0
"""Finished pages of a task as they are in the database, for administrators; they contain names of systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, exists, func, select

from interloq.web.access.people import raters
from interloq.web.schema import answer, assignment, event, invitation, item, person


@dataclass(frozen=True)
class Given:
    """One answer; `unit` is the place of the rated unit in the item."""

    unit: int
    aspect: str
    value: float | None
    choice: str | None = None


@dataclass(frozen=True)
class FinishedPage:
    """One item that a person finished. Pages about versions of the same answer have the same `cluster`."""

    person: int
    cluster: str
    units: tuple[Mapping[str, Any], ...]  # id, system and record
    answers: tuple[Given, ...]
    seconds: float  # from the first sight to the answers
    time: float
    order: tuple[int, ...] = (0, 1)  # place shown → place of the unit
    correct: Mapping[str, Sequence[float | str]] | None = None  # of an attention check


@dataclass(frozen=True)
class Person:
    """Somebody who opened an invitation to a task."""

    id: int
    rater: str  # an id that must be hashed
    label: str
    participant: str
    withdrawn: bool


def pages(connection: Connection, task: int) -> list[FinishedPage]:
    """Return the finished pages of a task in the order of their arrival, including attention checks.

    For a chat, only ratings of entire conversations are included, and each conversation is a separate item.
    """
    given: dict[int, list[Given]] = {}
    finished = (assignment.c.task_id == task) & assignment.c.finished.is_not(None)
    answers = select(answer).join(assignment, assignment.c.id == answer.c.assignment_id).where(finished)
    for row in connection.execute(answers.order_by(answer.c.id)):
        given.setdefault(row.assignment_id, []).append(Given(row.unit, row.aspect, row.value, row.choice))
    rows = connection.execute(
        select(assignment, item.c.hidden, item.c.correct)
        .join(item, item.c.id == assignment.c.item_id)
        .where(finished)
        .order_by(assignment.c.finished, assignment.c.id)
    )
    return [_page(row, given.get(row.id, ())) for row in rows]


def _page(row: Any, given: Sequence[Given]) -> FinishedPage:
    units, cluster = tuple(row.hidden.get("units", ())), row.answer_key
    if row.hidden.get("kind") == "chat":
        units, cluster = tuple({**unit, "id": f"{unit['id']} {row.id}"} for unit in units), f"{cluster} {row.id}"
    return FinishedPage(
        row.person_id, cluster, units, tuple(answered for answered in given if answered.unit < len(units)),
        row.finished - row.started, row.finished, tuple(row.order), row.correct,
    )  # fmt: skip


def clusters(connection: Connection, task: int) -> Counter[str]:
    """Count the items of a task per answer key, without attention checks."""
    wanted = (item.c.task_id == task) & item.c.correct.is_(None)
    rows = connection.execute(select(item.c.answer_key, func.count()).where(wanted).group_by(item.c.answer_key))
    return Counter({row[0]: int(row[1]) for row in rows})


def people(connection: Connection, task: int) -> list[Person]:
    """Return everybody who opened an invitation to a task."""
    known = raters(connection)
    rows = connection.execute(
        select(person, invitation.c.label)
        .join(invitation, invitation.c.id == person.c.invitation_id)
        .where(invitation.c.task_id == task)
        .order_by(person.c.id)
    )
    return [Person(row.id, known[row.id], row.label, row.participant, row.withdrawn is not None) for row in rows]


def count_invited(connection: Connection, task: int) -> int | None:
    """Count the people who can take part or did; None if anybody can, by the link of a crowd platform."""
    finished = exists().where(
        assignment.c.task_id == task, assignment.c.person_id == person.c.id, assignment.c.finished.is_not(None)
    )
    rows = connection.execute(
        select(invitation.c.parameter, invitation.c.revoked, person.c.withdrawn, finished.label("finished"))
        .select_from(invitation.outerjoin(person))
        .where(invitation.c.task_id == task)
    ).all()
    if any(row.parameter and row.revoked is None for row in rows):
        return None
    return sum(bool(row.finished) or row.revoked is row.withdrawn is None for row in rows)


def state(connection: Connection, task: int) -> str:
    """Return a text that changes when pages come in or are deleted, chats end, or somebody joins or withdraws."""
    done = select(func.count(), func.max(assignment.c.id), func.max(assignment.c.finished))
    done = done.where(assignment.c.task_id == task, assignment.c.finished.is_not(None))
    joined = select(func.count(), func.max(person.c.id), func.count(person.c.withdrawn))
    joined = joined.select_from(person.join(invitation)).where(invitation.c.task_id == task)
    links = select(func.count(), func.count(invitation.c.revoked)).where(invitation.c.task_id == task)
    left = select(func.count()).where(assignment.c.task_id == task, assignment.c.returned.is_not(None))
    ended = select(func.count()).select_from(event.join(assignment)).where(assignment.c.task_id == task)
    numbers: list[Any] = []
    for query in (done, joined, links, left, ended):
        numbers += connection.execute(query).one()
    return "-".join(map(str, numbers))

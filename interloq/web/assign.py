# SPDX-License-Identifier: Apache-2.0
"""Which item an annotator gets next.

An item goes to `per_item` annotators, items with fewer annotators first, and nobody gets two items with the same answer
key. An item that was left for too long is given to somebody else; who left it may still finish it.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Connection, and_, cast, exists, func, insert, select, update

from interloq.web.database import inserted
from interloq.web.questions import Task
from interloq.web.schema import assignment, item, task
from interloq.web.tasks import Stored

_MIX = 1_000_003  # a prime: gives every annotator another order of equal items


@dataclass(frozen=True)
class Assigned:
    """An item in the hands of an annotator; `order` maps places on the page to places in the item."""

    id: int
    item: int
    shown: Any
    order: tuple[int, ...]
    started: float


def next_item(connection: Connection, stored: Stored, person: int, *, now: float | None = None) -> Assigned | None:
    """The item that a person has not finished yet, or a new one; None if there is nothing left for them."""
    now = time.time() if now is None else now
    _wait_for_others(connection, stored.id)
    return_abandoned(connection, stored, now)
    if (held := _held(connection, stored.id, person)) is not None:
        return held
    if stored.closed or _is_done(connection, stored, person):
        return None
    if (again := _returned(connection, stored, person, now)) is not None:
        return again
    found = _check(connection, stored, person) or _open_item(connection, stored.id, stored.settings, person)
    return None if found is None else _assign(connection, stored.id, found, person, now)


def _wait_for_others(connection: Connection, number: int) -> None:
    """Assign the items of a task one after another: otherwise two people could take the last place of an item."""
    connection.execute(select(task.c.id).where(task.c.id == number).with_for_update(key_share=True))


def finished(connection: Connection, task: int, person: int) -> int:
    """Items that a person finished, without attention checks."""
    return int(
        connection.execute(
            select(func.count())
            .select_from(assignment.join(item, item.c.id == assignment.c.item_id))
            .where(_own(task, person), assignment.c.finished.is_not(None), item.c.correct.is_(None))
        ).scalar_one()
    )


def return_abandoned(connection: Connection, stored: Stored, now: float) -> None:
    """Give back the items of people who left."""
    left = and_(
        assignment.c.task_id == stored.id,
        assignment.c.finished.is_(None),
        assignment.c.returned.is_(None),
        assignment.c.seen < now - stored.settings.minutes * 60,
    )
    given_back = update(assignment).where(left).values(returned=now).returning(assignment.c.item_id)
    for number in sorted(connection.execute(given_back).scalars()):
        connection.execute(update(item).where(item.c.id == number).values(active=item.c.active - 1))


def keep(connection: Connection, assignment_id: int, person: int, *, now: float | None = None) -> bool:
    """Note that a person is still at work; False if this is not their item or it is finished."""
    own = and_(assignment.c.id == assignment_id, assignment.c.person_id == person, assignment.c.finished.is_(None))
    seen = time.time() if now is None else now
    return bool(connection.execute(update(assignment).where(own).values(seen=seen)).rowcount)


def note_work(connection: Connection, assignment_id: int, *, finished: bool = False) -> None:
    """Note that somebody worked on their item; one that was given back meanwhile is theirs again."""
    now = time.time()
    held = connection.execute(select(assignment).where(assignment.c.id == assignment_id)).one()
    if held.returned is not None:
        connection.execute(update(item).where(item.c.id == held.item_id).values(active=item.c.active + 1))
    values = {"seen": now, "returned": None, **({"finished": now} if finished else {})}
    connection.execute(update(assignment).where(assignment.c.id == assignment_id).values(**values))


def _own(task: int, person: int) -> Any:
    return and_(assignment.c.task_id == task, assignment.c.person_id == person)


def _held(connection: Connection, task: int, person: int) -> Assigned | None:
    held = _assignments(task, person).where(assignment.c.returned.is_(None)).limit(1)
    row = connection.execute(held).one_or_none()
    return None if row is None else _assigned(row)


def _returned(connection: Connection, stored: Stored, person: int, now: float) -> Assigned | None:
    """The item that a person left and nobody else took, so that what they typed is not lost."""
    free = item.c.correct.is_not(None) | (item.c.active < stored.settings.per_item)
    free &= assignment.c.returned.is_not(None)
    row = connection.execute(_assignments(stored.id, person).where(free).limit(1)).one_or_none()
    if row is None:
        return None
    connection.execute(update(assignment).where(assignment.c.id == row.id).values(returned=None, seen=now))
    connection.execute(update(item).where(item.c.id == row.item_id).values(active=item.c.active + 1))
    return _assigned(row)


def _assignments(task: int, person: int) -> Any:
    """Unfinished assignments of a person, oldest first."""
    return (
        select(assignment, item.c.shown)
        .join(item, item.c.id == assignment.c.item_id)
        .where(_own(task, person), assignment.c.finished.is_(None))
        .order_by(assignment.c.id)
    )


def _assigned(row: Any) -> Assigned:
    return Assigned(row.id, row.item_id, row.shown, tuple(row.order), row.started)


def _is_done(connection: Connection, stored: Stored, person: int) -> bool:
    most = stored.settings.most_items
    return bool(most) and finished(connection, stored.id, person) >= most


def _check(connection: Connection, stored: Stored, person: int) -> Any:
    """An attention check that the person has not seen, if it is time for one."""
    seen = select(func.count()).select_from(assignment.join(item, item.c.id == assignment.c.item_id))
    checks = connection.execute(seen.where(_own(stored.id, person), item.c.correct.is_not(None))).scalar_one()
    if finished(connection, stored.id, person) < (checks + 1) * stored.settings.check_every:
        return None
    return connection.execute(
        select(item)
        .where(item.c.task_id == stored.id, item.c.correct.is_not(None), ~_met(person))
        .order_by(item.c.place)
        .limit(1)
    ).one_or_none()


def _met(person: int) -> Any:
    """Whether a person has or had the item or another one with its answer key."""
    return exists().where(
        assignment.c.person_id == person,
        assignment.c.task_id == item.c.task_id,
        assignment.c.answer_key == item.c.answer_key,
    )


def _open_item(connection: Connection, task: int, settings: Task, person: int) -> Any:
    place = cast(item.c.place, BigInteger)  # the product is too large for an Integer of PostgreSQL
    wanted = (
        select(item.c.id)
        .where(item.c.task_id == task, item.c.correct.is_(None), item.c.active < settings.per_item, ~_met(person))
        .order_by(item.c.priority.desc(), item.c.active, (place * (person * 7919 + 1)) % _MIX, item.c.id)
        .limit(1)
    )
    found = connection.execute(wanted).scalar()  # by an index; texts are read of one item only
    return None if found is None else connection.execute(select(item).where(item.c.id == found)).one()


def _assign(connection: Connection, task: int, found: Any, person: int, now: float) -> Assigned:
    order = list(range(len(found.shown.get("units", ())) or 1))
    random.SystemRandom().shuffle(order)
    row = {"task_id": task, "item_id": found.id, "person_id": person, "answer_key": found.answer_key, "order": order}
    made = connection.execute(insert(assignment).values(**row, started=now, seen=now))
    connection.execute(update(item).where(item.c.id == found.id).values(active=item.c.active + 1))
    return Assigned(inserted(made), found.id, found.shown, tuple(order), now)

# SPDX-License-Identifier: Apache-2.0
"""Which item an annotator gets next.

An item goes to `per_item` annotators. Items with the highest priority come first, then items with the fewest annotators
(or the most, if a settled ranking ends the collection), at random among equals. Nobody gets two items with the same
answer key, or an item that belongs to another participant. An item that was left for too long is given to somebody
else; the person who left it may still finish it.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Float, and_, bindparam, exists, func, insert, select, update

from interloq.web.database import inserted_id
from interloq.web.schema import assignment, item, task
from interloq.web.studies.tasks import Stored, may_get

_RANDOM = random.SystemRandom()

# Statements of every page, made once: making them takes longer than running them. Conditions refer to indexes.
_OF_ITEM = assignment.join(item, item.c.id == assignment.c.item_id)
_OWN = and_(assignment.c.task_id == bindparam("task"), assignment.c.person_id == bindparam("person"))
_FINISHED = select(func.count(assignment.c.finished)).select_from(_OF_ITEM).where(_OWN, item.c.correct.is_(None))
_CHECKS = select(func.count()).select_from(_OF_ITEM).where(_OWN, item.c.correct.is_not(None))
_UNFINISHED = (
    select(assignment, item.c.shown, item.c.active, item.c.correct.is_not(None).label("check"))
    .select_from(_OF_ITEM)
    .where(_OWN, assignment.c.finished.is_(None))
    .order_by(assignment.c.id)
)
_ABANDONED = (
    update(assignment)
    .where(
        assignment.c.task_id == bindparam("task"),
        assignment.c.finished.is_(None),
        assignment.c.returned.is_(None),
        assignment.c.seen < bindparam("since"),
    )
    .values(returned=bindparam("now"))
    .returning(assignment.c.item_id)
)
_MET = exists().where(_OWN, assignment.c.answer_key == item.c.answer_key)  # the item, or another version of its answer
_UNSEEN_CHECK = (
    select(item.c.id)
    .where(item.c.task_id == bindparam("task"), item.c.correct.is_not(None), ~_MET)
    .order_by(item.c.id)
    .limit(1)
)
_FREE = and_(
    item.c.task_id == bindparam("task"),
    item.c.correct.is_(None),
    item.c.active < bindparam("per_item"),
    may_get(bindparam("person")),
    ~_MET,
)
_PRIORITY = select(item.c.priority).where(_FREE).order_by(item.c.priority.desc()).limit(1)
_ACTIVE = select(item.c.active).where(_FREE, item.c.priority == bindparam("priority")).limit(1)
_LEAST, _MOST = _ACTIVE.order_by(item.c.active), _ACTIVE.order_by(item.c.active.desc())
_EQUAL = (
    select(item.c.id)
    .where(_FREE, item.c.priority == bindparam("priority"), item.c.active == bindparam("annotators"))
    .order_by(item.c.place)
    .limit(1)
)
_LAST = select(func.max(item.c.place)).where(item.c.task_id == bindparam("task")).scalar_subquery()
_EQUAL_FROM = _EQUAL.where(item.c.place >= _LAST * bindparam("share", type_=Float))
_ITEM = select(item).where(item.c.id == bindparam("number"))
_TAKE = update(item).where(item.c.id == bindparam("number")).values(active=item.c.active + 1)
_HELD = select(assignment.c.item_id, assignment.c.returned).where(assignment.c.id == bindparam("number"))
_WORK = update(assignment).where(assignment.c.id == bindparam("number")).values(seen=bindparam("now"), returned=None)
_FINISH = _WORK.values(finished=bindparam("now"))
_KEEP = (
    update(assignment)
    .where(
        assignment.c.id == bindparam("number"),
        assignment.c.person_id == bindparam("person"),
        assignment.c.finished.is_(None),
    )
    .values(seen=bindparam("now"))
)


@dataclass(frozen=True)
class Assigned:
    """An item assigned to an annotator; `order` maps places on the page to places in the item."""

    id: int
    item: int
    shown: Any
    order: tuple[int, ...]
    started: float


def next_item(connection: Connection, stored: Stored, person: int, *, now: float | None = None) -> Assigned | None:
    """Return the item that a person has not finished yet, or a new one; None if there is nothing left for them."""
    if now is None:
        now = time.time()
    if connection.dialect.name != "sqlite":  # where writers take turns: two people must not take an item's last place
        connection.execute(select(task.c.id).where(task.c.id == stored.id).with_for_update(key_share=True))
    return_abandoned(connection, stored, now)
    begun = connection.execute(_UNFINISHED, {"task": stored.id, "person": person}).all()
    if held := [row for row in begun if row.returned is None]:
        return _make_assigned(held[0])
    most = stored.settings.most_items
    if stored.closed or (most and count_finished(connection, stored.id, person) >= most):
        return None
    for row in begun:
        if row.check or row.active < stored.settings.per_item:
            # they left it and nobody else took it: they get it back, so that what they typed is not lost
            connection.execute(update(assignment).where(assignment.c.id == row.id).values(returned=None, seen=now))
            connection.execute(_TAKE, {"number": row.item_id})
            return _make_assigned(row)
    number = _check(connection, stored, person) or _open_item(connection, stored, person)
    if number is None:
        return None
    return _assign(connection, number, person, now)


def count_finished(connection: Connection, task: int, person: int) -> int:
    """Count the items that a person finished, without attention checks."""
    return int(connection.execute(_FINISHED, {"task": task, "person": person}).scalar_one())


def return_abandoned(connection: Connection, stored: Stored, now: float) -> None:
    """Give back the items of people who left."""
    given = {"task": stored.id, "since": now - stored.settings.minutes * 60, "now": now}
    for number in sorted(connection.execute(_ABANDONED, given).scalars()):
        connection.execute(update(item).where(item.c.id == number).values(active=item.c.active - 1))


def keep(connection: Connection, assignment_id: int, person: int, *, now: float | None = None) -> bool:
    """Note that a person is still at work; False if this is not their item or it is finished."""
    if now is None:
        now = time.time()
    return bool(connection.execute(_KEEP, {"number": assignment_id, "person": person, "now": now}).rowcount)


def note_work(connection: Connection, assignment_id: int, *, finished: bool = False) -> None:
    """Note that somebody worked on their item; if it was given back meanwhile, it is theirs again."""
    held = connection.execute(_HELD, {"number": assignment_id}).one()
    if held.returned is not None:
        connection.execute(_TAKE, {"number": held.item_id})
    connection.execute(_FINISH if finished else _WORK, {"number": assignment_id, "now": time.time()})


def _make_assigned(row: Any) -> Assigned:
    return Assigned(row.id, row.item_id, row.shown, tuple(row.order), row.started)


def _check(connection: Connection, stored: Stored, person: int) -> int | None:
    """Return an attention check that the person has not seen, if it is time for one."""
    own = {"task": stored.id, "person": person}
    check: int | None = connection.execute(_UNSEEN_CHECK, own).scalar()
    if check is None:
        return None
    checks = int(connection.execute(_CHECKS, own).scalar_one())
    due = count_finished(connection, stored.id, person) >= (checks + 1) * stored.settings.check_every
    return check if due else None


def _open_item(connection: Connection, stored: Stored, person: int) -> int | None:
    """Return a random item among those with the highest priority and, of these, the fewest annotators.

    If collection stops when a ranking is settled, it is among those with the most annotators, since only items that
    everybody finished count. Each statement reads a few entries of an index, no matter how many items there are.
    """
    given: dict[str, Any] = {"task": stored.id, "person": person, "per_item": stored.settings.per_item}
    given["priority"] = connection.execute(_PRIORITY, given).scalar()
    if given["priority"] is None:
        return None
    order = _MOST if stored.settings.stop_when_settled else _LEAST
    given["annotators"] = connection.execute(order, given).scalar()
    number: int | None = connection.execute(_EQUAL_FROM, {**given, "share": _RANDOM.random()}).scalar()
    if number is None:  # none after the random place: take the first before it
        number = connection.execute(_EQUAL, given).scalar()
    return number


def _assign(connection: Connection, number: int, person: int, now: float) -> Assigned:
    taken = connection.execute(_ITEM, {"number": number}).one()
    order = list(range(len(taken.shown.get("units", ())) or 1))
    _RANDOM.shuffle(order)
    row = {"task_id": taken.task_id, "item_id": number, "person_id": person, "answer_key": taken.answer_key}
    made = connection.execute(insert(assignment), {**row, "order": order, "started": now, "seen": now})
    connection.execute(_TAKE, {"number": number})
    return Assigned(inserted_id(made), number, taken.shown, tuple(order), now)

# SPDX-License-Identifier: Apache-2.0
"""Tasks of a study: created from records with their items, listed and closed.

How many people a task needs: nobody gets two items with the same answer key, so `per_item` people may be too few. With
m items of one answer key (as with every two of k systems: k (k − 1) / 2 per context), m · `per_item` different people
are needed for it. A limit of items per person may require more. This many people suffice: items given out in the order
of their keys to one person after another never give anyone two of a key.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import Connection, Text, and_, bindparam, cast, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from interloq.data.batched import batched
from interloq.errors import InputError, count, nearest
from interloq.web.database import inserted_id
from interloq.web.schema import item, person, task
from interloq.web.studies.items import StudyItem
from interloq.web.studies.questions import StudyTask, from_json

BATCH = 500  # items per statement
_TASK = select(task.c.id, task.c.source, task.c.closed, cast(task.c.settings, Text).label("settings"))
_NUMBERED = _TASK.where(task.c.id == bindparam("number"))  # made once: every request of an annotator reads it


@dataclass(frozen=True)
class Stored:
    """A task in the database."""

    id: int
    settings: StudyTask
    source: Mapping[str, Any]
    closed: bool


def add_task(connection: Connection, settings: StudyTask, items: Iterable[StudyItem], source: Mapping[str, Any]) -> int:
    """Store a task and its items, and return its number; a name that exists is refused."""
    row = {"name": settings.name, "kind": settings.kind, "settings": asdict(settings), "source": source}
    try:
        with connection.begin_nested():
            made = connection.execute(insert(task).values(**row, created=time.time()))
    except IntegrityError as error:
        hint = "choose another name; tasks are never overwritten"
        raise InputError(f"the study has a task {settings.name!r} already", hint=hint) from error
    number, place = inserted_id(made), 0
    for some in batched(items, BATCH):
        rows = []
        for study_item in some:
            rows.append({"task_id": number, "place": place, **vars(study_item)})
            place += 1
        connection.execute(insert(item), rows)
    if not place:
        raise InputError("the file has nothing to show", hint="give samples or dialogues")
    return number


def get_task(connection: Connection, number: int) -> Stored:
    """Return the task with this number."""
    return _read_task(connection.execute(_NUMBERED, {"number": number}).one())


def find_task(connection: Connection, name: str) -> Stored:
    """Return the task with this name."""
    row = connection.execute(_TASK.where(task.c.name == name)).one_or_none()
    if row is None:
        known = connection.execute(select(task.c.name)).scalars()
        raise InputError(f"the study has no task {name!r}{nearest(name, known)}")
    return _read_task(row)


def all_tasks(connection: Connection) -> list[Stored]:
    """Return all tasks, oldest first."""
    return [_read_task(row) for row in connection.execute(_TASK.order_by(task.c.id))]


def close_task(connection: Connection, number: int, *, closed: bool = True) -> None:
    """Close a task, so that it gives out no further items, or reopen it."""
    connection.execute(update(task).where(task.c.id == number).values(closed=time.time() if closed else None))


def number_of_items(connection: Connection, number: int) -> int:
    """Count the items of a task without its attention checks."""
    wanted = (item.c.task_id == number) & item.c.correct.is_(None)
    return int(connection.execute(select(func.count()).where(wanted)).scalar_one())


def may_get(person_id: Any) -> Any:
    """Return the condition that an item belongs to nobody, or to this person."""
    participant = select(person.c.participant).where(person.c.id == person_id).scalar_subquery()
    return or_(item.c.owner == "", item.c.owner == participant)


def owners_of_items(connection: Connection, number: int) -> list[str]:
    """Return the participants to whom items of a task belong."""
    wanted = select(item.c.owner).where(item.c.task_id == number, item.c.owner != "").distinct()
    return sorted(connection.execute(wanted).scalars())


def number_of_pages(connection: Connection, number: int, person_id: int) -> int:
    """Count the items that a person can get: one per answer key, without attention checks."""
    wanted = and_(item.c.task_id == number, item.c.correct.is_(None), may_get(person_id))
    return int(connection.execute(select(func.count(item.c.answer_key.distinct())).where(wanted)).scalar_one())


def _read_task(row: Any) -> Stored:
    return Stored(row.id, _read_settings(row.settings), row.source, row.closed is not None)


@lru_cache(maxsize=256)
def _read_settings(text: str) -> StudyTask:
    """Return settings from their stored text, which every request of an annotator reads."""
    try:
        return from_json(orjson.loads(text))
    except orjson.JSONDecodeError as error:
        raise InputError(f"the stored settings of a task are not JSON: {error.msg}") from error


@dataclass(frozen=True)
class Workload:
    """The fewest people who can finish a task, and the most that each of them then does, without attention checks."""

    people: int
    pages: int
    answers: int | None = None  # None: depends on the conversations

    def __str__(self) -> str:
        people, pages = count(self.people, "person", "people, each"), count(self.pages, "page")
        answers = "" if self.answers is None else f" ({count(self.answers, 'answer')})"
        return f"at least {people} with up to {pages}{answers}"


def workload(settings: StudyTask, keys: Mapping[str, int], asked: int | None = None) -> Workload:
    """Return what a task needs; `keys` are its items per answer key, `asked` the answers if each item is rated once."""
    pages = sum(keys.values()) * settings.per_item
    most = settings.most_items or len(keys)
    if not pages:
        return Workload(0, 0, None)
    people = max(max(keys.values()) * settings.per_item, math.ceil(pages / most))
    answers = None
    if asked is not None:
        answers = math.ceil(asked * settings.per_item / people)
    return Workload(people, math.ceil(pages / people), answers)

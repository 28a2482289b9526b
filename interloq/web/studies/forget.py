# SPDX-License-Identifier: Apache-2.0
"""Deletes people from a study, and reports where copies of what they entered were deleted or may remain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, select

from interloq.data.pseudonyms import Pseudonyms, read_key
from interloq.web.access.people import forget, raters
from interloq.web.database import open_database
from interloq.web.schema import invitation, person, task
from interloq.web.studies.copies import copied_items, exports_of


@dataclass(frozen=True)
class Forgotten:
    """What was deleted, and what could not be reached."""

    people: int
    items: Mapping[str, int]  # by task: pages with their conversations, deleted with all answers
    exports: tuple[str, ...]  # files that may contain what they entered


def forget_in_study(place: str | Path, name: str, *, secret: str | None = None) -> Forgotten:
    """Delete people from a study, see `forget_rater`; `secret` is the key of pseudonyms, a file or `env:NAME`."""
    pseudonym, database = Pseudonyms(read_key(secret)), open_database(place, create=False)
    try:
        with database.writing() as connection:
            return forget_rater(connection, name, pseudonym)
    finally:
        database.close()


def forget_rater(connection: Connection, name: str, pseudonym: Callable[[str], str]) -> Forgotten:
    """Delete the people with this id of a participant, or this pseudonym in exported files."""
    numbers = [number for number, rater in raters(connection).items() if name in (rater, pseudonym(rater))]
    items: dict[str, int] = {}
    for number in numbers:
        for task_name, copies in copied_items(connection, number).items():
            items[task_name] = items.get(task_name, 0) + len(copies)
    tasks = select(task.c.name).join(invitation, invitation.c.task_id == task.c.id).join(person)
    own_tasks = connection.execute(tasks.where(person.c.id.in_(numbers))).scalars()
    exports = tuple(exports_of(connection, {*own_tasks, *items}))
    return Forgotten(sum(forget(connection, number) for number in numbers), items, exports)

# SPDX-License-Identifier: Apache-2.0
"""Delete people from a study, and report where copies of what they entered were deleted or may remain.

A task made from a chat, by one click or from its export, contains the conversations as records. They are recognised by
the id of the conversation and its texts, because the names of speakers depend on the key of pseudonyms. Exported files
are remembered, so that they can be named.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, select, update

from interloq.data.pseudonyms import Pseudonyms, read_key
from interloq.web.access.people import raters
from interloq.web.database import open_database
from interloq.web.schema import assignment, event, invitation, item, person, task, turn

EXPORTS = "exports"  # in the source of a task
MOST_EXPORTS = 100  # that are remembered per task
DOWNLOAD, PIPE = "a download from the administrators' page", "standard output"


@dataclass(frozen=True)
class Forgotten:
    """What was deleted, and what could not be reached."""

    people: int
    items: Mapping[str, int]  # by task: pages with their conversations, deleted with all answers
    exports: tuple[str, ...]  # files that may contain what they entered


def forget_in_study(place: str | Path, name: str, *, secret: str | None = None) -> Forgotten:
    """Delete people from a study, see `forget_rater`; `secret` is the key of pseudonyms, a file or `env:NAME`."""
    pseudonym = Pseudonyms(read_key(secret))
    with closing(open_database(place, create=False)) as database, database.writing() as connection:
        return forget_rater(connection, name, pseudonym)


def forget_rater(connection: Connection, name: str, pseudonym: Callable[[str], str]) -> Forgotten:
    """Delete the people with this id of a participant, or this pseudonym in exported files."""
    numbers = [number for number, rater in raters(connection).items() if name in (rater, pseudonym(rater))]
    items: dict[str, int] = {}
    for number in numbers:
        for task_name, copies in find_copied_items(connection, number).items():
            items[task_name] = items.get(task_name, 0) + len(copies)
    tasks = select(task.c.name).join(invitation, invitation.c.task_id == task.c.id).join(person)
    own_tasks = connection.execute(tasks.where(person.c.id.in_(numbers))).scalars()
    exports = tuple(exports_of(connection, {*own_tasks, *items}))
    return Forgotten(sum(forget_person(connection, number) for number in numbers), items, exports)


def forget_person(connection: Connection, person_id: int) -> bool:
    """Delete a person with everything that they entered; False if there is no such person."""
    _delete_answers(connection, person_id)
    return bool(connection.execute(delete(person).where(person.c.id == person_id)).rowcount)


def withdraw_person(connection: Connection, person_id: int) -> None:
    """Delete everything that a person entered, and keep only the fact that they withdrew."""
    _delete_answers(connection, person_id)
    connection.execute(delete(event).where(event.c.person_id == person_id))
    connection.execute(update(person).where(person.c.id == person_id).values(withdrawn=time.time(), consented=None))


def _delete_answers(connection: Connection, person_id: int) -> None:
    """Delete a person's assignments with all answers, and the items that show their conversations.

    Somebody else may get the items that were assigned to them.
    """
    for copies in find_copied_items(connection, person_id).values():
        connection.execute(delete(item).where(item.c.id.in_(copies)))
    own = delete(assignment).where(assignment.c.person_id == person_id)
    rows = connection.execute(own.returning(assignment.c.item_id, assignment.c.returned)).all()
    for number in sorted(row.item_id for row in rows if row.returned is None):
        connection.execute(update(item).where(item.c.id == number).values(active=item.c.active - 1))


def find_copied_items(connection: Connection, person: int) -> dict[str, list[int]]:
    """Return items of other tasks that contain a conversation of this person, by the name of the task."""
    turns = (
        select(turn.c.text, assignment.c.id, task.c.name)
        .join(assignment, assignment.c.id == turn.c.assignment_id)
        .join(task, task.c.id == assignment.c.task_id)
        .where(assignment.c.person_id == person, turn.c.text != "")
        .order_by(assignment.c.id, turn.c.place)
    )
    conversations: dict[str, list[str]] = {}
    for row in connection.execute(turns):
        conversations.setdefault(f"{row.name}/{row.id}", []).append(row.text)
    copies: dict[str, list[int]] = {}
    if not conversations:
        return copies
    others = select(item.c.id, item.c.hidden, task.c.name).join(task, task.c.id == item.c.task_id)
    for row in connection.execute(others.where(task.c.kind != "chat").order_by(item.c.id)):
        records = (*row.hidden.get("units", ()), *row.hidden.get("samples", ()))
        if any(_is_copy(unit, conversations) for unit in records):
            copies.setdefault(row.name, []).append(row.id)
    return copies


def _is_copy(unit: Mapping[str, Any], conversations: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a unit is one of the conversations, or a reply in one with the turns before it."""
    record, id = unit.get("record", {}), str(unit.get("id", ""))
    texts = []
    for turn_or_text in record.get("turns") or [*record.get("context", ()), record.get("response", "")]:
        text = turn_or_text["text"] if isinstance(turn_or_text, Mapping) else turn_or_text
        texts.append(str(text))
    for name in (id, str(record.get("dialogue", "")), id.rpartition("#")[0]):  # exports name replies <dialogue>#<turn>
        if name in conversations:
            return bool(texts) and list(conversations[name][: len(texts)]) == texts
    return False


def note_export(connection: Connection, number: int, output: str | Path | None) -> None:
    """Remember that a task was exported to a file; None is a download."""
    if output is None:
        where = DOWNLOAD
    elif str(output) == "-":
        where = PIPE
    else:
        where = str(Path(output).resolve())
    known = select(task.c.source).where(task.c.id == number).with_for_update()
    source = connection.execute(known).scalar_one()
    made = [export for export in source.get(EXPORTS, ()) if export["file"] != where]
    made = [*made, {"file": where, "time": time.time()}][-MOST_EXPORTS:]
    connection.execute(update(task).where(task.c.id == number).values(source={**source, EXPORTS: made}))


def exports_of(connection: Connection, names: Collection[str]) -> Iterator[str]:
    """Yield the files that these tasks were exported to, with the time of the last export."""
    rows = connection.execute(select(task.c.name, task.c.source).where(task.c.name.in_(names)).order_by(task.c.id))
    for row in rows:
        for export in row.source.get(EXPORTS, ()):
            day = time.strftime("%Y-%m-%d %H:%M", time.gmtime(export["time"]))
            yield f"{export['file']} (task {row.name}, {day} UTC)"

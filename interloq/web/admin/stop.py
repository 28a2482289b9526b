# SPDX-License-Identifier: Apache-2.0
"""Closes a task as soon as the ranking of its systems, or of metrics, is settled, if its settings ask for that."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from interloq.web.admin.metric_order import metrics_enough
from interloq.web.admin.monitor import enough, wanted
from interloq.web.database import Database
from interloq.web.schema import assignment, item
from interloq.web.studies.tasks import Stored, close_task, get_task
from interloq.web.work import collected


def stop_when_settled(database: Database, number: int, assignment_id: int) -> bool:
    """Look at the ranking after a page that completed an item; whether the task was closed now."""
    with database.reading() as connection:
        stored = get_task(connection, number)
        if stored.closed or not (stored.settings.questions and _is_complete(connection, stored, assignment_id)):
            return False
        pages, clusters = collected.pages(connection, number), collected.clusters(connection, number)
    look = metrics_enough if stored.settings.settled_by == "metrics" else enough
    enough_pages = look(pages, stored.settings.questions[0].aspect, *wanted(stored.settings, pages, clusters))
    if enough_pages is None or not enough_pages.settled:
        return False
    with database.writing() as connection:
        close_task(connection, number)
    return True


def _is_complete(connection: Connection, stored: Stored, assignment_id: int) -> bool:
    """Whether all pages with the answer key of this one are finished; before that, the ranking cannot change."""
    if stored.settings.kind == "chat":  # each conversation is complete
        return True
    key = select(assignment.c.answer_key).where(assignment.c.id == assignment_id).scalar_subquery()
    same = (assignment.c.task_id == stored.id) & (assignment.c.answer_key == key) & assignment.c.finished.is_not(None)
    items = (item.c.task_id == stored.id) & (item.c.answer_key == key) & item.c.correct.is_(None)
    done = connection.execute(select(func.count()).select_from(assignment).where(same)).scalar_one()
    pages = connection.execute(select(func.count()).select_from(item).where(items)).scalar_one()
    return bool(pages) and done >= pages * stored.settings.per_item

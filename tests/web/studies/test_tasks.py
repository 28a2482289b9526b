"""Tasks in the database."""

from __future__ import annotations

import pytest

from interloq.errors import InputError
from interloq.web.database import Database
from interloq.web.studies import tasks
from interloq.web.studies.items import rate_items
from tests.web.conftest import choice_task, likert_task, replies, stored_task


def test_tasks_are_stored_found_listed_and_closed(study: Database) -> None:
    first = stored_task(study, likert_task("first", instructions="<b>評価</b> ' \" \\ \0"), replies(2))
    second = stored_task(study, choice_task("second"), replies(3))
    with study.writing() as connection:
        assert tasks.find_task(connection, "first") == first
        assert tasks.all_tasks(connection) == [first, second]
        assert tasks.number_of_items(connection, second.id) == 3
        tasks.close_task(connection, first.id)
        assert [one.closed for one in tasks.all_tasks(connection)] == [True, False]
        with pytest.raises(InputError, match="did you mean 'second'"):
            tasks.find_task(connection, "secnd")


def test_a_refused_task_leaves_nothing(study: Database) -> None:
    stored_task(study, likert_task(), replies(2))
    with pytest.raises(InputError, match="has a task 'likert' already"):
        stored_task(study, likert_task(), replies(3))
    with pytest.raises(InputError, match="nothing to show"), study.writing() as connection:
        tasks.add_task(connection, likert_task("empty"), [], {})
    with study.reading() as connection:
        (left,) = tasks.all_tasks(connection)
        assert tasks.number_of_items(connection, left.id) == 2


def test_large_tasks_are_stored_whole(study: Database) -> None:
    with study.writing() as connection:
        items = rate_items(replies(tasks.BATCH + 1))
        assert tasks.number_of_items(connection, tasks.add_task(connection, likert_task(), items, {})) == len(items)

"""Tasks in the database."""

from __future__ import annotations

from collections import Counter
from itertools import count

import pytest

from interloq.errors import InputError
from interloq.web.access import joining, people
from interloq.web.database import Database
from interloq.web.studies import tasks
from interloq.web.studies.items import compare_items, rate_items
from interloq.web.studies.tasks import Workload, workload
from interloq.web.work import answers, assign
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


def test_formulas() -> None:
    """Three pairs of systems per context: 3 · 2 people, each with one page per context."""
    assert workload(choice_task(per_item=2), {"a": 3, "b": 3}, 6) == Workload(6, 2, 2)
    assert workload(likert_task(per_item=3), {"a": 1, "b": 1, "c": 1}, 12) == Workload(3, 3, 12)
    assert workload(likert_task(per_item=3, most_items=2), {"a": 1, "b": 1, "c": 1}) == Workload(5, 2)
    assert workload(likert_task(), {}) == Workload(0, 0)


def test_words() -> None:
    assert str(Workload(6, 1, 2)) == "at least 6 people, each with up to 1 page (2 answers)"
    assert str(Workload(1, 20)) == "at least 1 person with up to 20 pages"


@pytest.mark.parametrize("study", ["sqlite"], indirect=True)
def test_exactly_so_many_people_finish_everything(study: Database) -> None:
    records = replies(4, ["owl", "parrot", "crow"])
    task = stored_task(study, choice_task(per_item=2), records)
    needed = workload(task.settings, Counter(item.answer_key for item in compare_items(records)))
    with study.writing() as connection:
        entries = [joining.join(connection, people.invite(connection, task.id), {}) for _ in range(needed.people)]
        workers = [people.visitor(connection, entry.secret) for entry in entries if entry is not None]
        finished = []
        for visitor in workers:
            assert visitor is not None
            for page in count():
                if (found := assign.next_item(connection, task, visitor.person)) is None:
                    break
                given = [{"unit": 0, "aspect": "overall", "choice": "tie"}]
                answers.submit(connection, task.settings, visitor.person, found.id, f"page-{page:04d}", given, "v")
            finished.append(page)
    assert finished == [needed.pages] * needed.people
    assert sum(finished) == 4 * 3 * 2

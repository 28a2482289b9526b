"""Assignment: balanced, never two versions of an answer for one person, and nothing lost when people leave."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from sqlalchemy import select

from interloq.web.database import Database
from interloq.web.schema import item
from interloq.web.studies import tasks
from interloq.web.studies.items import rate_items
from interloq.web.studies.tasks import Stored
from interloq.web.work import answers, assign
from interloq.web.work.assign import Assigned
from tests.web.conftest import annotators, choice_task, likert_task, replies, stored_task

LATER = 31 * 60.0  # seconds after which an item counts as abandoned


def take(study: Database, stored: Stored, person: int, now: float | None = None) -> Assigned | None:
    with study.writing() as connection:
        return assign.next_item(connection, stored, person, now=now)


def finish(study: Database, stored: Stored, person: int, found: Assigned) -> None:
    given = [{"unit": unit, "aspect": "overall", "value": 3} for unit in range(len(found.order))]
    if stored.settings.kind == "compare":
        given = [{"aspect": "overall", "choice": "tie"}]
    with study.writing() as connection:
        answers.submit(connection, stored.settings, person, found.id, f"submission-{found.id}", given, "page")


def finish_all(study: Database, stored: Stored, person: int) -> list[Assigned]:
    found = []
    while (one := take(study, stored, person)) is not None:
        finish(study, stored, person, one)
        found.append(one)
    return found


def active(study: Database) -> list[int]:
    with study.reading() as connection:
        return list(connection.execute(select(item.c.active).order_by(item.c.id)).scalars())


def test_each_item_goes_to_as_many_annotators_as_wanted(study: Database) -> None:
    stored = stored_task(study, likert_task(per_item=2), replies(4))
    first, second, third = annotators(study, stored, 3)
    for _ in range(2):  # two items each: all four have one annotator before any has two
        for person in (first, second):
            found = take(study, stored, person)
            assert found is not None
            finish(study, stored, person, found)
    assert active(study) == [1, 1, 1, 1]
    done = Counter(one.item for person in (third, second, first) for one in finish_all(study, stored, person))
    assert done.total() == 4
    assert active(study) == [2, 2, 2, 2]


def test_items_are_completed_one_by_one_if_a_settled_ranking_ends_the_collection(study: Database) -> None:
    stored = stored_task(study, likert_task(per_item=3, stop_when_settled=True), replies(8))
    people = annotators(study, stored, 4)
    for person in people:
        for _ in range(3):
            found = take(study, stored, person)
            assert found is not None
            finish(study, stored, person, found)
    assert sorted(active(study)) == [0, 0, 1, 1, 1, 3, 3, 3]


def test_nobody_gets_two_versions_of_an_answer(study: Database) -> None:
    stored = stored_task(study, choice_task(), replies(2, ("a", "b", "c")))
    (person,) = annotators(study, stored)
    found = finish_all(study, stored, person)
    assert len(found) == 2  # of six: one pair of systems per context
    assert len({str(one.shown["context"]) for one in found}) == 2


def test_two_visits_get_one_item_and_orders_differ(study: Database) -> None:
    stored = stored_task(study, likert_task(per_item=40), replies(1))
    people = annotators(study, stored, 12)
    assert take(study, stored, people[0]) == take(study, stored, people[0])
    orders = {found.order for person in people if (found := take(study, stored, person))}
    assert orders == {(0, 1), (1, 0)}  # the same for all twelve only once in two thousand runs


def test_abandoned_items_return_and_late_answers_count(study: Database) -> None:
    stored = stored_task(study, likert_task(per_item=1), replies(1))
    slow, quick = annotators(study, stored, 2)
    left = take(study, stored, slow, now=0)
    assert left is not None
    assert take(study, stored, quick, now=60) is None
    taken = take(study, stored, quick, now=LATER)
    assert taken is not None
    assert taken.item == left.item
    assert take(study, stored, slow, now=LATER) is None  # taken by somebody else
    finish(study, stored, slow, left)
    finish(study, stored, quick, taken)
    assert active(study) == [2]


def test_who_left_gets_the_item_back_if_nobody_took_it(study: Database) -> None:
    stored = stored_task(study, likert_task(per_item=1), replies(1))
    (person,) = annotators(study, stored)
    left = take(study, stored, person, now=0)
    assert take(study, stored, person, now=LATER) == left
    assert active(study) == [1]


def test_a_person_at_work_keeps_the_item(study: Database) -> None:
    stored = stored_task(study, likert_task(per_item=1), replies(1))
    slow, other = annotators(study, stored, 2)
    held = take(study, stored, slow, now=0)
    assert held is not None
    with study.writing() as connection:
        assert assign.keep(connection, held.id, slow, now=LATER - 60)
        assert not assign.keep(connection, held.id, other)
    assert take(study, stored, other, now=LATER) is None


def test_many_who_ask_at_once_never_get_more_than_wanted(study: Database) -> None:
    stored = stored_task(study, likert_task(per_item=3), replies(2))
    people = annotators(study, stored, 8)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda person: take(study, stored, person), people))
    assert sorted(Counter(one.item for one in found if one).values()) == [3, 3]
    assert active(study) == [3, 3]


def test_items_that_several_notice_to_be_abandoned_return_once(study: Database) -> None:
    stored = stored_task(study, likert_task(per_item=1), replies(3))
    for person in annotators(study, stored, 3):
        take(study, stored, person, now=0)
    late = annotators(study, stored, 6)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda person: take(study, stored, person, now=LATER), late))
    assert sum(one is not None for one in found) == 3
    assert active(study) == [1, 1, 1]


def test_large_priorities_come_first(study: Database) -> None:
    items = [replace(one, priority=float(i)) for i, one in enumerate(rate_items(replies(3)))]
    with study.writing() as connection:
        stored = tasks.get_task(connection, tasks.add_task(connection, likert_task(), items, {}))
    (person,) = annotators(study, stored)
    shown = [one.shown["context"][0]["text"] for one in finish_all(study, stored, person)]
    assert shown == ["Question 2?", "Question 1?", "Question 0?"]


def test_attention_checks_come_in_between_and_cannot_be_avoided(study: Database) -> None:
    items = rate_items(replies(5))
    items[4] = replace(items[4], correct={"overall": [5]})
    with study.writing() as connection:
        number = tasks.add_task(connection, likert_task(check_every=2, per_item=1), items, {})
        stored = tasks.get_task(connection, number)
    first, second = annotators(study, stored, 2)
    for _ in range(2):
        found = take(study, stored, first)
        assert found is not None
        finish(study, stored, first, found)
    check = take(study, stored, first, now=0)
    assert check is not None
    assert check.shown["context"][0]["text"] == "Question 4?"
    assert take(study, stored, second, now=LATER) is not None  # which returns the check
    assert take(study, stored, first, now=LATER) == check
    finish(study, stored, first, check)
    with study.reading() as connection:
        assert assign.count_finished(connection, stored.id, first) == 2


def test_closed_tasks_and_limits_end_the_work(study: Database) -> None:
    stored = stored_task(study, likert_task(most_items=2), replies(5))
    first, second = annotators(study, stored, 2)
    assert len(finish_all(study, stored, first)) == 2
    assert take(study, replace(stored, closed=True), second) is None

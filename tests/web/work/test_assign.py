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
from interloq.web.work import assign
from interloq.web.work.assign import Assigned
from tests.web.conftest import add_annotators, choice_task, finish_item, likert_task, replies, store_task, take_item

LATER = 31 * 60.0  # seconds after which an item counts as abandoned


def take(study: Database, stored: Stored, person: int, now: float | None = None) -> Assigned | None:
    with study.writing() as connection:
        return assign.next_item(connection, stored, person, now=now)


def finish_items(study: Database, stored: Stored, person: int, most: int = 99) -> list[Assigned]:
    """Finish so many items, or all that the person gets."""
    finished: list[Assigned] = []
    while len(finished) < most and (assigned := take(study, stored, person)) is not None:
        finish_item(study, stored, person, assigned)
        finished.append(assigned)
    return finished


def count_annotators(study: Database) -> list[int]:
    """Return the number of annotators of each item."""
    with study.reading() as connection:
        return list(connection.execute(select(item.c.active).order_by(item.c.id)).scalars())


def test_each_item_goes_to_as_many_annotators_as_wanted(study: Database) -> None:
    stored = store_task(study, likert_task(per_item=2), replies(4))
    first, second, third = add_annotators(study, stored, 3)
    for _ in range(2):  # two items each: all four have one annotator before any has two
        for person in (first, second):
            finish_items(study, stored, person, 1)
    assert count_annotators(study) == [1, 1, 1, 1]
    assert sum(len(finish_items(study, stored, person)) for person in (third, second, first)) == 4
    assert count_annotators(study) == [2, 2, 2, 2]


def test_items_are_completed_one_by_one_if_a_settled_ranking_ends_the_collection(study: Database) -> None:
    stored = store_task(study, likert_task(per_item=3, stop_when_settled=True), replies(8))
    for person in add_annotators(study, stored, 4):
        finish_items(study, stored, person, 3)
    assert sorted(count_annotators(study)) == [0, 0, 1, 1, 1, 3, 3, 3]


def test_nobody_gets_two_versions_of_an_answer(study: Database) -> None:
    stored = store_task(study, choice_task(), replies(2, ("a", "b", "c")))
    (person,) = add_annotators(study, stored)
    found = finish_items(study, stored, person)
    assert len(found) == 2  # of six: one pair of systems per context
    assert len({str(one.shown["context"]) for one in found}) == 2


def test_two_visits_get_one_item_and_orders_differ(study: Database) -> None:
    stored = store_task(study, likert_task(per_item=40), replies(1))
    people = add_annotators(study, stored, 12)
    assert take(study, stored, people[0]) == take(study, stored, people[0])
    orders = {found.order for person in people if (found := take(study, stored, person))}
    assert orders == {(0, 1), (1, 0)}  # the same for all twelve only once in two thousand runs


def test_abandoned_items_return_and_late_answers_count(study: Database) -> None:
    stored = store_task(study, likert_task(per_item=1), replies(1))
    slow, quick = add_annotators(study, stored, 2)
    left = take_item(study, stored, slow, now=0)
    assert take(study, stored, quick, now=60) is None
    taken = take_item(study, stored, quick, now=LATER)
    assert taken.item == left.item
    assert take(study, stored, slow, now=LATER) is None  # taken by somebody else
    finish_item(study, stored, slow, left)
    finish_item(study, stored, quick, taken)
    assert count_annotators(study) == [2]


def test_who_left_gets_the_item_back_if_nobody_took_it(study: Database) -> None:
    stored = store_task(study, likert_task(per_item=1), replies(1))
    (person,) = add_annotators(study, stored)
    left = take(study, stored, person, now=0)
    assert take(study, stored, person, now=LATER) == left
    assert count_annotators(study) == [1]


def test_a_person_at_work_keeps_the_item(study: Database) -> None:
    stored = store_task(study, likert_task(per_item=1), replies(1))
    slow, other = add_annotators(study, stored, 2)
    held = take_item(study, stored, slow, now=0)
    with study.writing() as connection:
        assert assign.keep(connection, held.id, slow, now=LATER - 60)
        assert not assign.keep(connection, held.id, other)
    assert take(study, stored, other, now=LATER) is None


def test_many_who_ask_at_once_never_get_more_than_wanted(study: Database) -> None:
    stored = store_task(study, likert_task(per_item=3), replies(2))
    people = add_annotators(study, stored, 8)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda person: take(study, stored, person), people))
    assert sorted(Counter(one.item for one in found if one).values()) == [3, 3]
    assert count_annotators(study) == [3, 3]


def test_items_that_several_notice_to_be_abandoned_return_once(study: Database) -> None:
    stored = store_task(study, likert_task(per_item=1), replies(3))
    for person in add_annotators(study, stored, 3):
        take(study, stored, person, now=0)
    late = add_annotators(study, stored, 6)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda person: take(study, stored, person, now=LATER), late))
    assert sum(one is not None for one in found) == 3
    assert count_annotators(study) == [1, 1, 1]


def test_large_priorities_come_first(study: Database) -> None:
    items = [replace(one, priority=float(i)) for i, one in enumerate(rate_items(replies(3)))]
    with study.writing() as connection:
        stored = tasks.get_task(connection, tasks.add_task(connection, likert_task(), items, {}))
    (person,) = add_annotators(study, stored)
    shown = [one.shown["context"][0]["text"] for one in finish_items(study, stored, person)]
    assert shown == ["Question 2?", "Question 1?", "Question 0?"]


def test_attention_checks_come_in_between_and_cannot_be_avoided(study: Database) -> None:
    items = rate_items(replies(5))
    items[4] = replace(items[4], correct={"overall": [5]})
    with study.writing() as connection:
        number = tasks.add_task(connection, likert_task(check_every=2, per_item=1), items, {})
        stored = tasks.get_task(connection, number)
    first, second = add_annotators(study, stored, 2)
    finish_items(study, stored, first, 2)
    check = take_item(study, stored, first, now=0)
    assert check.shown["context"][0]["text"] == "Question 4?"
    assert take(study, stored, second, now=LATER) is not None  # which returns the check
    assert take(study, stored, first, now=LATER) == check
    finish_item(study, stored, first, check)
    with study.reading() as connection:
        assert assign.count_finished(connection, stored.id, first) == 2


def test_closed_tasks_and_limits_end_the_work(study: Database) -> None:
    stored = store_task(study, likert_task(most_items=2), replies(5))
    first, second = add_annotators(study, stored, 2)
    assert len(finish_items(study, stored, first)) == 2
    assert take(study, replace(stored, closed=True), second) is None

# SPDX-License-Identifier: Apache-2.0
"""Collection stops when the ranking is settled."""

from __future__ import annotations

from typing import Any

from interloq.records import Score
from interloq.web.admin.stop import stop_when_settled
from interloq.web.database import Database
from interloq.web.studies.items import rate_items
from interloq.web.studies.priority import with_scores
from interloq.web.studies.tasks import add_task, get_task
from interloq.web.work.answers import submit
from interloq.web.work.assign import next_item
from tests.web.conftest import annotators, likert_task, replies

SCORES = [
    Score(one.id, metric, float(one.system == winner), system=one.system)
    for one in replies(14)
    for metric, winner in (("bleu", "secret-owl"), ("chrf", "secret-parrot"))
]


def answers_until_the_end(study: Database, ratings: tuple[int, int], **settings: Any) -> int:
    """Pages that two people finish before the task gives out no more."""
    asked = likert_task(per_item=2, stop_when_settled=True, **settings)
    with study.writing() as connection:
        number = add_task(connection, asked, with_scores(rate_items(replies(14)), SCORES), {})
        stored = get_task(connection, number)
    workers, pages = annotators(study, stored, 2), 0
    while True:
        for person in workers:
            with study.writing() as connection:
                found = next_item(connection, get_task(connection, stored.id), person)
                if found is None:
                    return pages
                given = [{"unit": i, "aspect": "overall", "value": ratings[u]} for i, u in enumerate(found.order)]
                submit(connection, stored.settings, person, found.id, f"submission-{found.id}", given, "page")
            stop_when_settled(study, stored.id, found.id)
            pages += 1


def test_a_clear_ranking_ends_the_collection(study: Database) -> None:
    pages = answers_until_the_end(study, (2, 4))
    assert 16 <= pages < 28  # the first look is after 8 items, rated by two people each


def test_the_order_of_metrics_can_end_it(study: Database) -> None:
    assert answers_until_the_end(study, (2, 4), settled_by="metrics") < 28


def test_equal_systems_are_rated_to_the_end(study: Database) -> None:
    assert answers_until_the_end(study, (3, 3)) == 28


def test_equal_replies_do_not_order_metrics(study: Database) -> None:
    assert answers_until_the_end(study, (3, 3), settled_by="metrics") == 28

# SPDX-License-Identifier: Apache-2.0
"""Collection stops when the ranking is settled."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
import pytest

from interloq.records import Score
from interloq.web.admin.collected import FinishedPage, Given
from interloq.web.admin.stop import count_wanted_items, look_at_metrics, look_at_systems
from interloq.web.admin.study_worker import StudyWorker
from interloq.web.database import Database
from interloq.web.studies import items
from interloq.web.studies.tasks import add_task, get_task
from interloq.web.work.assign import next_item
from tests.web.admin.test_monitor import SYSTEMS, choose, rate, ratings_of_two_people, with_scores
from tests.web.conftest import add_annotators, chat_task, likert_task, replies, submit

SCORES = [
    Score(one.id, metric, float(one.system == winner), system=one.system)
    for one in replies(14)
    for metric, winner in (("bleu", "secret-owl"), ("chrf", "secret-parrot"))
]
CLUSTERS = {f"c{item}": 1 for item in range(60)}


@pytest.mark.parametrize(
    ("ratings", "settled_by", "fewest", "most"),  # pages until the task gives out no more
    [
        ((2, 4), "systems", 16, 27),  # the first look is after 8 items, rated by two people each
        ((2, 4), "metrics", 16, 27),
        ((3, 3), "systems", 28, 28),
        ((3, 3), "metrics", 28, 28),
    ],
)
def test_a_clear_ranking_ends_the_collection(
    study: Database, ratings: tuple[int, int], settled_by: Any, fewest: int, most: int
) -> None:
    settings = likert_task(per_item=2, stop_when_settled=True, settled_by=settled_by)
    with study.writing() as connection:
        number = add_task(connection, settings, items.with_scores(items.rate_items(replies(14)), SCORES), {})
        stored = get_task(connection, number)
    pages, worker = 0, StudyWorker(study)
    for person in cycle(add_annotators(study, stored, 2)):
        with study.writing() as connection:
            page = next_item(connection, get_task(connection, number), person)
        if page is None:
            break
        given = [{"unit": i, "aspect": "overall", "value": ratings[u]} for i, u in enumerate(page.order)]
        submit(study, stored, person, page.id, given)
        worker.stop_when_settled(number, page.id)
        pages += 1
    assert fewest <= pages <= most


def test_a_clear_difference_settles_the_ranking_early() -> None:
    pages = [rate(person, item, (1 + (item + person) % 2, 4 + item % 2)) for item in range(30) for person in (1, 2)]
    found = look_at_systems(pages, "overall", {f"c{item}": 1 for item in range(100)}, 2)
    assert found.settled
    assert found.order == ("owl", "parrot")
    assert found.looked <= 30 == found.complete


def test_no_difference_does_not_settle_and_more_items_are_estimated() -> None:
    noise = np.random.default_rng(5).integers(1, 6, size=(40, 2))
    pages = [rate(1, item, noise[item].tolist()) for item in range(40)]
    found = look_at_systems(pages, "overall", {f"c{item}": 1 for item in range(60)}, 1)
    assert not found.settled
    assert [{gap.better, gap.worse} for gap in found.open_gaps] == [set(SYSTEMS)]
    assert found.wanted is not None
    assert found.wanted > found.looked > 0


def test_items_that_others_still_rate_do_not_count() -> None:
    found = look_at_systems(ratings_of_two_people(12), "overall", {f"c{item}": 1 for item in range(12)}, 3)
    assert (found.complete, found.looked, found.settled) == (0, 0, False)


def test_dialogues_of_one_system_each_are_compared_in_order() -> None:
    """Constructed so that each round has a dialogue of either system; all of owl's are better."""
    pages = []
    for item in range(40):
        unit = {"id": f"d{item}", "system": SYSTEMS[item % 2], "record": {}}
        value = 4.0 + item % 3 / 2 if item % 2 else 1.0 + item % 3 / 2
        pages.append(FinishedPage(1, f"c{item}", (unit,), (Given(0, "overall", value),), 20, float(item)))
    found = look_at_systems(pages, "overall", {f"c{item}": 1 for item in range(40)}, 1)
    assert (found.items, found.complete, found.settled, found.order) == (20, 20, True, ("owl", "parrot"))


def test_conversations_are_items_of_their_own() -> None:
    """Six conversations are finished, and with two items for five people each, four are still wanted."""
    pages = [rate(1, item, (1, 2)) for item in range(6)]
    found = count_wanted_items(chat_task(per_item=5), pages, {"owl": 1, "parrot": 1})[0]
    assert (len(found), sum(name.startswith("open") for name in found)) == (10, 4)


def good(item: int, unit: int) -> float:
    return float(unit if item % 8 else 1 - unit)  # wrong on one of eight


def bad(item: int, unit: int) -> float:
    return float(unit if item % 8 == 3 else 1 - unit)


@pytest.mark.parametrize("compared", [False, True])
def test_the_metric_that_orders_replies_as_people_do_is_found(compared: bool) -> None:
    """Owl, the second unit, is always better."""
    pages = [choose(1, item, "b") if compared else rate(1, item, (2, 4)) for item in range(60)]
    pages = [
        with_scores(page, [{"bleu": good(i, u), "chrf": bad(i, u)} for u in range(2)]) for i, page in enumerate(pages)
    ]
    found = look_at_metrics(pages, "overall", CLUSTERS, 1)
    assert found is not None
    assert found.settled
    assert found.order == ("bleu", "chrf")
    assert found.looked < 60


def test_equal_metrics_and_equal_judgments_settle_nothing() -> None:
    same = [{"bleu": good(0, u), "meteor": good(0, u)} for u in range(2)]
    pages = [with_scores(rate(1, item, (2, 4)), same) for item in range(60)]
    found = look_at_metrics(pages, "overall", CLUSTERS, 1)
    assert found is not None
    assert not found.settled
    ties = [with_scores(rate(1, item, (3, 3)), same) for item in range(60)]
    found = look_at_metrics(ties, "overall", CLUSTERS, 1)
    assert found is not None
    assert found.complete == 0


def test_one_metric_has_no_order() -> None:
    pages = [with_scores(rate(1, item, (2, 4)), [{"bleu": 0.0}, {"bleu": 1.0}]) for item in range(9)]
    assert look_at_metrics(pages, "overall", CLUSTERS, 1) is None

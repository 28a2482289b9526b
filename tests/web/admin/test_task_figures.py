# SPDX-License-Identifier: Apache-2.0
"""Figures in words and tables."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from interloq.data.pseudonyms import Pseudonyms
from interloq.web.access.people import Right
from interloq.web.admin.admin_routes import with_allowed_actions
from interloq.web.admin.collected import FinishedPage, Given, Person
from interloq.web.admin.task_figures import Collected, figures
from interloq.web.messages import interval, number, render
from interloq.web.studies.questions import StudyTask
from interloq.web.studies.tasks import Stored
from tests.web.admin.test_monitor import choose, rate, ratings_of_two_people, with_scores
from tests.web.conftest import chat_task, choice_task, likert_task

NAME = Pseudonyms("a key for tests of figures")


def show_figures(
    task: StudyTask, pages: list[FinishedPage], items: int = 12, pages_of_item: int = 1
) -> dict[str, dict[str, Any]]:
    """Return the headlines and sections in English, by their ids."""
    people = [Person(one, f"rater {one}", "friends", "", withdrawn=False) for one in (1, 2)]
    clusters = {f"c{item}": pages_of_item for item in range(items)}
    found = render(figures(Collected(Stored(1, task, {}, closed=False), pages, clusters, people), NAME), "en")
    return {one["id"]: one for part in ("headlines", "sections") for one in found[part]}


def test_an_empty_task() -> None:
    found = show_figures(likert_task(), [])
    assert (found["pages"]["value"], found["pages"]["note"]) == ("0", "of 36")
    assert found["alpha"]["value"] == "–"
    assert found["systems-overall"]["text"] == ["No answers yet."]
    assert found["enough"]["text"] == ["A ranking needs answers about at least two systems."]
    assert found["agreement-overall"]["rows"] == []


def test_two_people_who_agree() -> None:
    found = show_figures(likert_task(per_item=2), ratings_of_two_people())
    assert found["alpha"]["value"] == "1.00"
    assert found["settled"]["value"] == "settled"
    assert found["enough"]["text"] == ["The ranking was settled after 8 complete items: owl, parrot. You can stop."]
    owl, parrot = found["systems-overall"]["rows"]
    assert owl[:2] == ["owl", "4.00"]
    assert parrot[:2] == ["parrot", "2.00"]
    assert owl[3]["bar"][1] == 0.75
    person = found["people"]["rows"][0]
    assert person[0] == {"text": NAME("rater 1"), "identity": ["friends", ""], "note": ""}
    assert person[1:6] == [{"reasons": []}, "12", "20.0", "–", "1.00"]


def test_systems_that_are_alike() -> None:
    pages = [choose(1, item, "a" if item % 7 < 4 else "b") for item in range(28)]
    found = show_figures(choice_task(per_item=1), pages, items=40)
    verdict, more = found["enough"]["text"]
    assert verdict.startswith("Not settled at the look after ")
    assert more.endswith("would separate them; this task has 12 items left.")
    assert found["systems-overall"]["columns"][-2:] == ["Strength", "95 % interval"]


def find_wanted_pages(found: dict[str, dict[str, Any]]) -> tuple[int, int]:
    """Return the numbers of items and pages that would separate the systems."""
    numbers = re.search(r"about ([\d,]+) more items? \(([\d,]+) pages?\)", found["enough"]["text"][-1])
    assert numbers, found["enough"]["text"]
    items, pages = (int(one.replace(",", "")) for one in numbers.groups())
    return items, pages


def test_pages_of_pairs_count_every_pair_of_a_context() -> None:
    pages = [choose(1, item, "a" if item % 7 < 4 else "b") for item in range(28) for _ in range(3)]
    found = show_figures(choice_task(per_item=1), pages, items=40, pages_of_item=3)
    more, needed = find_wanted_pages(found)
    assert needed == 3 * more
    assert found["enough"]["text"][1].endswith("a page about each system: 3 pages.")


def test_pages_of_a_chat_count_one_conversation_per_system() -> None:
    systems = ("owl", "parrot", "crow")
    pages = []
    for i in range(60):
        unit = {"id": f"{i}", "system": systems[i % 3], "record": {}}
        given = (Given(0, "overall", 3.0 + (i // 3 * 7 + i % 3) % 5 / 2),)
        pages.append(FinishedPage(i, f"chat {i}", (unit,), given, 20.0, float(i)))
    found = show_figures(chat_task(per_item=10), pages, items=9)
    more, needed = find_wanted_pages(found)
    assert needed == 3 * more


def test_metrics_and_the_gap_of_chatters() -> None:
    record = {"ratings": [{"value": 5, "role": "interlocutor"}]}
    pages = [rate(1, item, (1 + item % 3, 2 + item % 3), record=record, scores={"m": item % 3}) for item in range(12)]
    found = show_figures(likert_task(), pages)
    assert [row[:2] for row in found["metrics-overall"]["rows"]] == [["m", "0.86"]]
    assert [row[:2] for row in found["gap-overall"]["rows"]] == [["owl", "2.00"], ["parrot", "3.00"]]


def test_numbers() -> None:
    assert [number(one) for one in (-0.126, -0.001, float("nan"))] == ["−0.13", "0.00", "–"]
    assert render((interval((0, 1)), interval(None)), "en") == ["0.00 to 1.00", "–"]


def test_actions_and_identities_need_rights() -> None:
    name = {"text": "u1", "identity": ["friends", ""], "note": "withdrew"}
    section = {"id": "people", "rows": [[name, "3", {"person": 1, "actions": ["forget"]}]]}

    def select_cells(right: Right) -> Any:
        return with_allowed_actions({"sections": [section]}, [right])["sections"][0]["rows"][0]

    assert select_cells("see") == [{"text": "u1", "note": "withdrew"}, "3", {"person": 1, "actions": []}]
    assert select_cells("invite")[0] == {"text": "u1", "note": "friends · withdrew"}
    assert select_cells("delete")[2] == {"person": 1, "actions": ["forget"]}


def test_headings_and_sentences_are_translated_and_names_are_not() -> None:
    compared = [choose(1, item, "a" if item % 7 < 4 else "b") for item in range(28)]
    facts: dict[str, Any] = {"seconds": 1, "scores": {"m": 1, "n": 2}}
    lazy = [rate(person, item, (3, 3), **facts) for item in range(12) for person in (1, 2)]
    for task, pages in ((choice_task(per_item=1), compared), (likert_task(per_item=2), lazy)):
        clusters = {f"c{item}": 1 for item in range(40)}
        found = figures(Collected(Stored(1, task, {}, closed=False), pages, clusters, [], invited=0), NAME)
        english, shown = render(found, "en"), render(found, "ja")
        for before, after in zip(english["sections"], shown["sections"], strict=True):
            assert after["title"] != before["title"]
            for part in ("text", "columns"):
                assert [one for one in after[part] if one and one in before[part]] == []
            if not after["id"].startswith("agreement"):
                assert [row[0] for row in after["rows"]] == [row[0] for row in before["rows"]]
            assert not re.search(r"\b(no|to|of)\b", str(after["rows"]))
        for part in ("needed", "warning"):
            assert shown[part] != english[part] != ""
        assert {one["name"] for one in shown["headlines"]} & {one["name"] for one in english["headlines"]} == set()


SAME, VARIED = {"m": 1.0}, [{"m": 1.0}, {"m": 2.0}]


@pytest.mark.parametrize(
    ("note", "task", "pages"),
    [
        ("constant judgments", likert_task(), [rate(p, item, (3, 3)) for item in range(4) for p in (1, 2)]),
        ("constant scores", likert_task(), [rate(1, item, (2, 4), scores=SAME) for item in range(4)]),
        ("constant scores and judgments", likert_task(), [rate(1, item, (3, 3), scores=SAME) for item in range(4)]),
        ("0 points: nothing to correlate", choice_task(), [with_scores(choose(1, 0, "a"), [SAME, {}])]),
        ("1 point: nothing to correlate", likert_task(), [rate(1, 0, (2, None), scores=SAME)]),
        ("only two points", likert_task(), [with_scores(rate(1, 0, (2, 4)), VARIED)]),
        ("never compared", choice_task(), [choose(1, 0, "a"), choose(1, 1, "a", ("crow", "dove"))]),
    ],
)
def test_notes_of_the_statistics_are_translated(note: str, task: StudyTask, pages: list[FinishedPage]) -> None:
    content = figures(Collected(Stored(1, task, {}, closed=False), pages, {}, []), NAME)
    english, japanese = (json.dumps(render(content, language), ensure_ascii=False) for language in ("en", "ja"))
    assert note in english
    assert note not in japanese

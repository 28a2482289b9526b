# SPDX-License-Identifier: Apache-2.0
"""Numbers as text, and figures in other languages."""

from __future__ import annotations

import re
from typing import Any

from interloq.web.access.roles import Right
from interloq.web.admin.sections import interval, number, with_allowed_actions
from interloq.web.admin.task_figures import Collected, figures
from interloq.web.messages import render
from interloq.web.studies.tasks import Stored
from tests.web.admin.test_monitor import chosen, rated
from tests.web.admin.test_task_figures import NAME
from tests.web.conftest import choice_task, likert_task


def test_numbers() -> None:
    assert [number(one) for one in (-0.126, -0.001, float("nan"))] == ["−0.13", "0.00", "–"]
    assert render((interval((0, 1)), interval(None)), "en") == ["0.00 to 1.00", "–"]


def test_actions_and_identities_need_rights() -> None:
    person = [
        {"text": "u1", "identity": ["friends", ""], "note": "withdrew"},
        "3",
        {"person": 1, "actions": ["forget"]},
    ]
    found = {"sections": [{"id": "people", "rows": [person]}]}

    def shown(*rights: Right) -> list[object]:
        row: list[object] = with_allowed_actions(found, rights)["sections"][0]["rows"][0]
        return row

    assert shown("see") == [{"text": "u1", "note": "withdrew"}, "3", {"person": 1, "actions": []}]
    assert shown("invite")[0] == {"text": "u1", "note": "friends · withdrew"}
    assert shown("delete")[2] == {"person": 1, "actions": ["forget"]}


def test_headings_and_sentences_are_translated_and_names_are_not() -> None:
    compared = [chosen(1, item, "a" if item % 7 < 4 else "b") for item in range(28)]
    facts: dict[str, Any] = {"seconds": 1, "scores": {"m": 1, "n": 2}}
    lazy = [rated(person, item, (3, 3), **facts) for item in range(12) for person in (1, 2)]
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

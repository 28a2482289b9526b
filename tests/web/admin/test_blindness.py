# SPDX-License-Identifier: Apache-2.0
"""Shares of bots taken for people, and of bots that were recognised."""

from __future__ import annotations

from interloq.web.admin.blindness import guess_sections
from interloq.web.messages import render
from interloq.web.studies.guesses import Guesses
from interloq.web.work.collected import FinishedPage, Given

FOUND = Guesses(human=True, names={"owl": "The wise one", "parrot": "The chatty one"})


def page(system: str, correct: dict[str, list[float]] | None = None, **values: float | None) -> FinishedPage:
    unit = {"id": "d", "system": system, "record": {}, "speakers": {"A": "", "B": system}}
    answers = tuple(Given(0, aspect, value) for aspect, value in values.items())
    return FinishedPage(1, "c", (unit,), answers, 9.0, 1.0, (0,), correct)


def test_guesses_are_counted_by_system_and_compared_with_chance() -> None:
    pages = [page("owl", guessed_human=1, guessed_partner=1) for _ in range(7)]
    pages += [
        page("parrot", guessed_human_a=1, guessed_human_b=0, guessed_partner=2),
        page("parrot", guessed_partner=1),
    ]
    pages += [page("owl", {"overall": [5]}, guessed_human=0, guessed_partner=2), page("owl", guessed_human=None)]
    human, recognised = render(list(guess_sections(pages, FOUND)), "en")
    assert [(row[0], row[1], row[3]) for row in human["rows"]] == [
        ("owl", "1.00", "7"), ("parrot", "0.00", "1"), ("people who chatted", "1.00", "1"),
    ]  # fmt: skip
    assert recognised["rows"][2] == ["all bots", "0.89", "0.52 to 1.00", "9"]
    assert "chance is 0.50" in recognised["text"][0]
    assert "p = .039" in recognised["text"][0]
    assert "Clopper–Pearson" in recognised["text"][1]


def test_without_guesses_there_is_nothing_to_show() -> None:
    assert list(guess_sections([page("owl", overall=3)], Guesses())) == []
    assert [one["text"] for one in render(list(guess_sections([], FOUND)), "en")] == [["No guesses yet."]] * 2

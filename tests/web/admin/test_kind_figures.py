# SPDX-License-Identifier: Apache-2.0
"""Shares of bots taken for people, and of bots that were recognised."""

from __future__ import annotations

import re

from interloq.web.admin import collected
from interloq.web.admin.collected import FinishedPage, Given
from interloq.web.admin.kind_figures import (
    Outcome,
    estimate_curves,
    guess_sections,
    outcomes,
    references_figures,
    survival_section,
)
from interloq.web.admin.task_figures import Collected, figures
from interloq.web.chat.conversations import BOT, PERSON, Chat, ChatLine
from interloq.web.database import Database
from interloq.web.messages import render
from interloq.web.references.reference_steps import ReferenceDecision
from interloq.web.studies.questions import Guesses
from tests.web.conftest import NAMES, AddReferences
from tests.web.made_references import SAMPLES, WALK

FOUND = Guesses(human=True, names={"owl": "The wise one", "parrot": "The chatty one"})
LIMIT = 3


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


def make_chat(number: int, bot: str, replies: int, *, over: bool = True) -> Chat:
    """Return a conversation with so many replies; ended by the person, unless the limit is reached."""
    lines = [ChatLine(i, (PERSON, BOT)[i % 2], "text", "", float(i)) for i in range(2 * replies)]
    ended = over and replies < LIMIT
    return Chat(number, number, bot, "echo", "", tuple(lines), LIMIT, ended, finished=ended, returned=False)


CHATS = [make_chat(i, "owl", replies) for i, replies in enumerate((1, 2, 3, 3))]
CHATS += [make_chat(9, "parrot", 2), make_chat(10, "parrot", 1, over=False)]


def test_the_limit_censors_and_open_conversations_do_not_count() -> None:
    owl, parrot = estimate_curves(CHATS)
    assert [(one.value, one.n) for one in owl.turns if one.n] == [(3 / 4, 4), (1 / 2, 3)]
    assert [(one.value, one.n) for one in parrot.turns] == [(1, 1), (0, 1)]
    low, high = owl.turns[1].ci or (0, 0)
    assert 0 <= low < 1 / 2 < high <= 1


def test_the_section_has_the_curves_as_a_table_and_a_plot() -> None:
    (found,) = render(list(survival_section(CHATS, LIMIT)), "en")
    assert found["columns"][:4] == ["Reply", "owl", "owl, 95 %", "owl, at risk"]
    assert [row[:2] + row[3:5] + row[6:] for row in found["rows"]] == [
        ["1", "0.75", "4", "1.00", "1"],
        ["2", "0.50", "3", "0.00", "1"],
    ]
    assert [[point[0] for point in line["points"]] for line in found["plot"]] == [[1, 0.75, 0.5], [1, 1, 0]]
    assert "limit of 3 turns are censored" in found["text"][0]
    assert re.match(r"Expected answers within 2 replies: owl 1.25 \(.* to .*\); parrot 1.00", found["text"][1])
    assert list(survival_section(CHATS[-1:], LIMIT)) == []
    (long,) = survival_section([make_chat(1, "owl", 95)], 100)
    assert len(long["rows"]) == 24


def test_means_are_over_queries_with_predictions() -> None:
    found = [Outcome(2, 1, 0.1, 0.4), Outcome(0, 0, 0.2, 0.2), Outcome(1, 0, None, 0.3)]
    shown, section = render(references_figures(found, "made up"), "en")
    assert (shown["value"], shown["note"]) == ("0.300", "0.150 before")
    assert section["rows"] == [["3", "3", "1", "0.150", "0.300", "0.150"]]
    assert section["text"][0].startswith("Means over 2 finished queries with predictions.")
    assert section["text"][1] == "About the model: made up."
    assert references_figures([])[0]["value"] == "–"


def test_figures_follow_the_steps(study: Database, add_references: AddReferences) -> None:
    task = add_references(study, [*SAMPLES, WALK])
    stored = task.stored
    person, number = task.start()
    task.decide(person, number, ReferenceDecision("edit", text="a sip"), before=0.1, after=0.2)
    task.decide(person, number, ReferenceDecision("keep"), before=0.1, after=0.3)
    with study.reading() as connection:
        assert outcomes(connection, stored) == []
    task.decide(person, number, ReferenceDecision("next"), before=0.3, after=0.9)
    with study.reading() as connection:
        found = outcomes(connection, stored)
        assert found == [Outcome(1, 1, 0.1, 0.3)]
        pages, clusters = collected.pages(connection, stored.id), collected.clusters(connection, stored.id)
        people = collected.people(connection, stored.id)
    shown = figures(Collected(stored, pages, clusters, people, 1, found), NAMES)
    assert [one["value"] for one in shown["headlines"]] == ["1", "1", "0.300"]
    assert [one["id"] for one in shown["sections"]] == ["reliability", "people"]

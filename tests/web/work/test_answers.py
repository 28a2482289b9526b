"""Answers: checked, stored once, or not at all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select

from interloq.errors import InputError
from interloq.web.database import Database
from interloq.web.schema import answer, assignment, draft
from interloq.web.studies.questions import Question, StudyTask
from interloq.web.work import answers
from interloq.web.work.answers import IncompleteError, check_answers
from tests.web.conftest import add_annotators, choice_task, likert_task, replies, store_task, take_item

RATE = StudyTask("rate", "r", (Question(), Question("fluency", optional=True, not_applicable=True, reason=True)))


class Held:
    """A study in which one person has one item with two replies."""

    def __init__(self, study: Database, settings: StudyTask) -> None:
        self.study, self.stored = study, store_task(study, settings, replies(1))
        self.person, self.other = add_annotators(study, self.stored, 2)
        self.assigned = take_item(study, self.stored, self.person)

    def submit(self, given: object, submission: str = "submission", person: int = 0) -> None:
        with self.study.writing() as connection:
            person = person or self.person
            answers.submit(connection, self.stored.settings, person, self.assigned.id, submission, given, "page")

    def stored_answers(self) -> list[tuple[int, str, float | None, str | None, str]]:
        columns = answer.c.unit, answer.c.aspect, answer.c.value, answer.c.choice, answer.c.reason
        with self.study.reading() as connection:
            return [tuple(row) for row in connection.execute(select(*columns).order_by(answer.c.unit, answer.c.id))]


def rated(first: object, second: object) -> list[dict[str, Any]]:
    return [{"unit": 0, "aspect": "overall", "value": first}, {"unit": 1, "aspect": "overall", "value": second}]


def test_answers_are_stored_by_the_place_in_the_item_not_on_the_page(study: Database) -> None:
    held = Held(study, likert_task())
    held.submit(rated(2, 5))
    assert {value: unit for unit, _, value, _, _ in held.stored_answers()} == dict(
        zip((2.0, 5.0), held.assigned.order, strict=True)
    )


def test_a_choice_on_the_page_names_the_unit(study: Database) -> None:
    held = Held(study, choice_task())
    hostile = "<script>alert(1)</script> '; DROP TABLE answer; -- \0 \ud800 評価"
    held.submit([{"aspect": "overall", "choice": "second", "reason": hostile}])
    ((_, _, value, choice, reason),) = held.stored_answers()
    assert value is None
    assert choice == "ab"[held.assigned.order[1]]
    assert reason == "<script>alert(1)</script> '; DROP TABLE answer; --  ? 評価"


def test_a_submission_sent_twice_is_stored_once(study: Database) -> None:
    held = Held(study, likert_task())
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: held.submit(rated(2, 5)), range(4)))
    held.submit(rated(2, 5))
    assert len(held.stored_answers()) == 2
    with pytest.raises(InputError, match="finished before"):
        held.submit(rated(1, 1), "another-submission")
    assert {value for _, _, value, _, _ in held.stored_answers()} == {2.0, 5.0}


def test_nobody_answers_for_somebody_else(study: Database) -> None:
    held = Held(study, likert_task())
    with pytest.raises(InputError, match="belongs to somebody else"):
        held.submit(rated(2, 5), person=held.other)
    with pytest.raises(InputError, match="belongs to somebody else"), study.writing() as connection:
        answers.save_draft(connection, held.other, held.assigned.id, 1, {})
    assert held.stored_answers() == []


def test_incomplete_answers_leave_nothing(study: Database) -> None:
    held = Held(study, likert_task())
    with pytest.raises(IncompleteError) as raised:
        held.submit(rated(2, None))
    assert [(one.unit, one.aspect, one.reason) for one in raised.value.problems] == [(1, "overall", "missing")]
    with study.reading() as connection:
        assert held.stored_answers() == []
        assert connection.execute(select(func.count()).where(assignment.c.finished.is_not(None))).scalar() == 0


@pytest.mark.parametrize("question", [Question(), Question(control="slider", low=0, high=5)])
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({}, "missing"),
        ({"value": None}, "missing"),
        ({"reason": "no value"}, "missing"),
        ({"value": 6}, "not_on_scale"),
        ({"value": [3]}, "not_on_scale"),
        ({"value": 1.5}, "not_on_scale"),
        ({"value": True}, "not_on_scale"),
        ({"value": "3"}, "not_on_scale"),
        ({"value": float("nan")}, "not_on_scale"),
        ({"value": 10**400}, "not_on_scale"),
        ({"value": {"$gt": 0}}, "not_on_scale"),
        ({"not_applicable": True}, "not_offered"),
        ({"value": 3, "reason": "x" * 5001}, "too_long"),
        ({"value": 3, "reason": ["x"]}, "too_long"),
    ],
)
def test_each_problem_has_a_reason(question: Question, answer: dict[str, Any], reason: str) -> None:
    with pytest.raises(IncompleteError) as raised:
        check_answers(StudyTask("rate", "r", (question,)), [{"aspect": "overall", **answer}], [0])
    assert [problem.reason for problem in raised.value.problems] == [reason]


@pytest.mark.parametrize("choice", ["third", ["first"], {}, 0, True])
def test_a_choice_that_was_not_offered_is_refused(choice: object) -> None:
    with pytest.raises(IncompleteError):
        check_answers(choice_task(), [{"aspect": "overall", "choice": choice}], [0, 1])


@pytest.mark.parametrize("question", [Question(optional=True), Question(control="slider")])
def test_a_page_without_any_answer_is_not_done(question: Question) -> None:
    with pytest.raises(IncompleteError):
        check_answers(StudyTask("rate", "r", (question,)), [], [0, 1])


@pytest.mark.parametrize(
    "given",
    [
        "all fives",
        [5],
        [{"aspect": "overall", "value": 5}, {"aspect": "overall", "value": 1}],
        [{"aspect": "overall", "value": 5}, {"aspect": "unasked", "value": 1}],
        [{"aspect": "overall", "value": 5}, {"unit": 7, "aspect": "overall", "value": 1}],
        [{"unit": "0", "aspect": "overall", "value": 5}],
        [{"unit": True, "aspect": "overall", "value": 5}],
    ],
)
def test_malformed_answers_are_refused(given: object) -> None:
    with pytest.raises(InputError, match=r"must be a list|two answers|not asked|not an answer"):
        check_answers(RATE, given, [0])


def test_not_applicable_and_unanswered_differ() -> None:
    given = {"aspect": "fluency", "not_applicable": True, "reason": "no text"}
    overall = {"aspect": "overall", "value": 3}
    assert len(check_answers(RATE, [overall], [0])) == 1
    _, row = check_answers(RATE, [overall, given], [0])
    assert (row["value"], row["choice"], row["reason"]) == (None, None, "no text")


def test_newer_drafts_win_and_go_with_the_answers(study: Database) -> None:
    held = Held(study, likert_task())

    def save(revision: int) -> int:
        with study.writing() as connection:
            return answers.save_draft(connection, held.person, held.assigned.id, revision, {"typed": revision})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(save, (3, 1, 4, 2)))
    assert save(2) == 4
    with study.reading() as connection:
        assert answers.get_draft(connection, held.assigned.id) == (4, {"typed": 4})
    held.submit(rated(2, 5))
    with study.reading() as connection:
        assert answers.get_draft(connection, held.assigned.id) == (0, None)
        assert connection.execute(select(func.count()).select_from(draft)).scalar() == 0

# SPDX-License-Identifier: Apache-2.0
"""Answers of annotators: checked, then stored once, no matter how often the page sends them; and drafts of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, insert, select, update

from interloq.errors import InputError, short_repr
from interloq.web.database import make_storable
from interloq.web.schema import answer, assignment, draft, item
from interloq.web.studies.questions import Question, StudyTask, is_number
from interloq.web.work.assign import note_work

CHOICES = ("first", "second", "tie")  # as shown on the page
PLACES = "ab"  # how a stored choice names the units of an item
LONGEST_REASON = 5_000
# Statements of every page, made once: making them takes longer than running them.
_OWN = and_(assignment.c.id == bindparam("number"), assignment.c.person_id == bindparam("person"))
_HELD = (
    select(assignment, item.c.shown)
    .join(item, item.c.id == assignment.c.item_id)
    .where(_OWN)
    .with_for_update(of=assignment)  # the same submission may arrive twice at once
)
_OPEN = select(assignment.c.id).where(_OWN, assignment.c.finished.is_(None)).with_for_update()  # of two drafts at once
_DRAFT = select(draft).where(draft.c.assignment_id == bindparam("number"))
_FORGET_DRAFT = delete(draft).where(draft.c.assignment_id == bindparam("number"))
Asked = Sequence[tuple[int, Question]]  # the unit as shown, and a question about it


@dataclass(frozen=True)
class Problem:
    """Why an answer cannot be stored: the unit as shown, the aspect, and a key of the interface texts."""

    unit: int
    aspect: str
    reason: str  # missing, not_on_scale, not_offered, too_long


class IncompleteError(InputError):
    """Answers with problems; the page shows each at its question."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{len(problems)} of the answers cannot be stored", hint="see each question")


def submit(
    connection: Connection,
    settings: StudyTask,
    person: int,
    assignment_id: int,
    submission: str,
    given: object,
    page: str,
    *,
    asked: Asked | None = None,
) -> None:
    """Store the answers to an item and finish it. A submission that was already stored is not stored again.

    `asked` are the units and questions of the item; by default, all questions are asked about each unit.
    """
    held = connection.execute(_HELD, {"number": assignment_id, "person": person}).one_or_none()
    if held is None:
        raise InputError("this item belongs to somebody else", hint="reload the page")
    if held.finished is not None:
        known = select(answer.c.id).where(answer.c.assignment_id == assignment_id, answer.c.submission == submission)
        if connection.execute(known.limit(1)).one_or_none() is None:
            raise InputError("this item was finished before", hint="reload the page for the next one")
        return
    rows = check_answers(settings, given, held.order, asked)
    now = time.time()
    facts = {"assignment_id": assignment_id, "submission": submission, "time": now, "page": page}
    connection.execute(insert(answer), [{**row, **facts} for row in rows])
    note_work(connection, assignment_id, finished=True)  # also if it is late
    connection.execute(_FORGET_DRAFT, {"number": assignment_id})


def check_answers(
    settings: StudyTask, given: object, order: Sequence[int], asked: Asked | None = None
) -> list[dict[str, Any]]:
    """Return rows of answers, by place in the item; raises IncompleteError with everything that is wrong."""
    answers = _by_question(given)
    units = dict(enumerate(order))
    if settings.kind == "compare":
        units = {0: 0}
    rows, problems = [], []
    for unit, question in asked or product(units, settings.questions):
        row, reason = _row(question, answers.pop((unit, question.aspect), {}), order)
        if reason:
            problems.append(Problem(unit, question.aspect, reason))
        elif row is not None:
            rows.append({**row, "unit": units.get(unit, unit), "aspect": question.aspect})
    if answers:
        raise InputError(f"an answer to a question that was not asked: {short_repr(next(iter(answers)))}")
    if not (rows or problems):  # all questions are optional: a page without answers is not an answer
        problems = [Problem(0, question.aspect, "missing") for question in settings.questions]
    if problems:
        raise IncompleteError(problems)
    return rows


def _by_question(given: object) -> dict[tuple[int, str], Mapping[str, Any]]:
    if not isinstance(given, list) or not all(isinstance(item, Mapping) for item in given):
        raise InputError(f"answers must be a list of objects, got {short_repr(given)}")
    by_question = {}
    for one_answer in given:
        unit, aspect = one_answer.get("unit", 0), one_answer.get("aspect", "")
        if isinstance(unit, bool) or not isinstance(unit, int) or not isinstance(aspect, str):
            raise InputError(f"not an answer: {short_repr(one_answer)}")
        if (unit, aspect) in by_question:
            raise InputError(f"two answers to one question: {short_repr((unit, aspect))}")
        by_question[unit, aspect] = one_answer
    return by_question


def _row(question: Question, one: Mapping[str, Any], order: Sequence[int]) -> tuple[dict[str, Any] | None, str]:
    """Return the stored columns, or the problem; (None, "") for an optional question that was not answered."""
    reason = one.get("reason", "")
    if not isinstance(reason, str) or len(reason) > LONGEST_REASON:
        return None, "too_long"
    reason = make_storable(reason)
    if question.control == "choice":
        shown = one.get("choice")
        if shown is None:
            return None, _missing(question, reason)
        if shown not in CHOICES:
            return None, "not_offered"
        chosen = "tie" if shown == "tie" else PLACES[order[CHOICES.index(shown)]]
        return {"value": None, "choice": chosen, "reason": reason}, ""
    if one.get("not_applicable") is True:
        if not question.not_applicable:
            return None, "not_offered"
        return {"value": None, "choice": None, "reason": reason}, ""
    value = one.get("value")
    if value is None:
        return None, _missing(question, reason)
    exact = question.value_on_scale(value) if is_number(value) else None
    if exact is None:
        return None, "not_on_scale"
    return {"value": exact, "choice": None, "reason": reason}, ""


def _missing(question: Question, reason: str) -> str:
    """Return the problem of an unanswered question: none if it is optional, unless a reason was written."""
    return "" if question.optional and not reason.strip() else "missing"


def save_draft(connection: Connection, person: int, assignment_id: int, revision: int, body: object) -> int:
    """Keep what was typed, unless something newer is kept; return the revision that is kept now."""
    if connection.execute(_OPEN, {"number": assignment_id, "person": person}).one_or_none() is None:
        raise InputError("this item is finished or belongs to somebody else", hint="reload the page")
    known = connection.execute(_DRAFT, {"number": assignment_id}).one_or_none()
    row = {"revision": revision, "body": body, "updated": time.time()}
    if known is None:
        connection.execute(insert(draft), {"assignment_id": assignment_id, **row})
    elif revision > known.revision:
        connection.execute(update(draft).where(draft.c.assignment_id == assignment_id).values(**row))
    else:
        return int(known.revision)
    return revision


def get_draft(connection: Connection, assignment_id: int) -> tuple[int, Any]:
    """Return the kept draft and its revision; (0, None) if there is none."""
    row = connection.execute(_DRAFT, {"number": assignment_id}).one_or_none()
    if row is None:
        return 0, None
    return row.revision, row.body

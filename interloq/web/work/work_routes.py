# SPDX-License-Identifier: Apache-2.0
"""Routes of annotators: joining, the page they need now, consent, drafts and answers.

A response contains only their own items, without ids of samples and names of systems.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import Field, field_validator
from sqlalchemy import Connection
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException

from interloq.web.access import joining, people
from interloq.web.access.people import Visitor
from interloq.web.access.security import ADMIN_COOKIE, BROWSER_COOKIE, COOKIE, network_of
from interloq.web.access.visitors import Annotator, Known, OwnAssignment, Study, StudyDatabase, at_work
from interloq.web.admin.study_worker import StudyWorker
from interloq.web.chat import conversations as chat
from interloq.web.chat.chat_task import questions_after
from interloq.web.messages import FOLDER
from interloq.web.pages import PAGE_VERSION, Pages
from interloq.web.references import reference_steps as references
from interloq.web.studies.forget import withdraw_person
from interloq.web.studies.questions import LARGEST, is_rated_by_interlocutor
from interloq.web.studies.tasks import get_task, number_of_pages
from interloq.web.work import answers, assign

router = APIRouter()
STATIC = FOLDER / "static"
SESSION_SECONDS = people.SESSION_DAYS * 86_400
BROWSER_SECONDS = 400 * 86_400  # browsers keep no cookie for longer


class Draft(OwnAssignment):
    """What was typed so far; larger revisions replace smaller ones."""

    revision: int = Field(ge=1, le=10**9)
    body: dict[str, Any]

    @field_validator("body")
    @classmethod
    def _check(cls, body: dict[str, Any]) -> dict[str, Any]:
        try:
            json.dumps(body, allow_nan=False)  # databases and browsers read no NaN
        except RecursionError as error:
            raise ValueError("too deep") from error
        return body


class Submission(OwnAssignment):
    """The answers to an item; the same submission may be sent again and is stored once."""

    submission: str = Field(pattern=r"^[0-9a-zA-Z-]{8,40}$")
    answers: list[dict[str, Any]] = Field(max_length=500)


@router.get("/worker.js")
def worker() -> Response:
    """Return the service worker; it can keep only pages below its own address, so it is not a static file."""
    return FileResponse(STATIC / "worker.js", media_type="text/javascript")


@router.get("/offline")
def offline(request: Request) -> Response:
    """Return a page that browsers keep and show without a connection; it contains nothing about anybody."""
    pages: Pages = request.app.state.pages
    return HTMLResponse(pages.failure("offline", "", request.headers.get("accept-language", "")))


@router.get("/join/{token}")
def join(request: Request, database: StudyDatabase, token: str) -> Response:
    """Start a session from an invitation, and leave its secret out of all further addresses."""
    study: Study = request.app.state.study
    browser = joining.Browser(
        request.cookies.get(study.cookie(BROWSER_COOKIE), ""), request.cookies.get(study.cookie(COOKIE), "")
    )
    with database.writing() as connection:
        parameters = dict(request.query_params)
        may_come = partial(request.app.state.may_come, network_of(request.scope), connection)
        session = joining.join(connection, token, parameters, browser, may_come=may_come)
    if session is None:
        raise HTTPException(404, "invitation_not_valid")
    if session.role == "annotator":
        page, cookie = f"{study.root}/", COOKIE
    else:
        page, cookie = f"{study.root}/admin", ADMIN_COOKIE
    response = RedirectResponse(page, status_code=303)
    study.set_cookie(response, cookie, session.secret, SESSION_SECONDS)
    if session.browser:
        study.set_cookie(response, BROWSER_COOKIE, session.browser, BROWSER_SECONDS)
    return response


@router.get("/")
def home(request: Request, database: StudyDatabase, visitor: Known) -> Response:
    """Return the page that a person needs now."""
    if visitor.task is None:
        return RedirectResponse(f"{request.app.state.study.root}/admin", status_code=303)
    with database.writing() as connection:
        render = _page(connection, request.app.state, visitor, visitor.task)
    return HTMLResponse(render())  # after the transaction, so that nobody waits for it


def _page(connection: Connection, state: Any, visitor: Visitor, task: int) -> Callable[[], str]:
    """Return the function that renders the page."""
    stored, pages = get_task(connection, task), state.pages
    settings = stored.settings
    if visitor.withdrawn:
        return partial(pages.message, settings, "withdrawn")
    if settings.consent and not visitor.consented:
        return partial(pages.consent, settings, visitor)
    done = assign.count_finished(connection, stored.id, visitor.person)
    pages_of = (task, visitor.person if is_rated_by_interlocutor(settings) else None)
    if pages_of not in state.totals:
        state.totals[pages_of] = number_of_pages(connection, task, visitor.person)
    total = min(settings.most_items or LARGEST, state.totals[pages_of])
    assigned = assign.next_item(connection, stored, visitor.person)
    if assigned is None:
        return partial(pages.done, settings, visitor, done)
    draft = answers.get_draft(connection, assigned.id)
    if settings.kind == "references":
        references.number_person(connection, settings, task, visitor.person)
        work = references.get_work(connection, settings, visitor.person, assigned.id)
        return partial(pages.references, settings, visitor, assigned, work, draft, done, total)
    if settings.kind != "chat":
        return partial(pages.item, settings, visitor, assigned, draft, done, total)
    talk = chat.get_chat(connection, settings, visitor.person, assigned.id)
    if talk.ended:
        return partial(pages.chat_questions, settings, visitor, talk, draft, done, total)
    return partial(pages.chat, settings, visitor, talk, done, total)


@router.post("/consent")
def give_consent(database: StudyDatabase, visitor: Annotator) -> dict[str, bool]:
    """Record consent."""
    with database.writing() as connection:
        people.consent(connection, visitor.person)
    return {"stored": True}


@router.post("/withdraw")
def withdraw(database: StudyDatabase, visitor: Annotator) -> dict[str, bool]:
    """Delete everything that the person entered."""
    with database.writing() as connection:
        withdraw_person(connection, visitor.person)
    return {"stored": True}


@router.post("/api/draft")
def keep_draft(database: StudyDatabase, visitor: Annotator, draft: Draft) -> dict[str, int]:
    """Keep what was typed so far, and note that the person is at work. The browser keeps it as well."""
    with database.writing(wait_for_disk=False) as connection:
        kept = answers.save_draft(connection, visitor.person, draft.assignment, draft.revision, draft.body)
        assign.keep(connection, draft.assignment, visitor.person)
    return {"revision": kept}


@router.post("/api/answers")
def take_answers(request: Request, database: StudyDatabase, visitor: Annotator, given: Submission) -> JSONResponse:
    """Store the answers to an item; with problems, nothing is stored and each is named."""
    try:
        with database.writing() as connection:
            settings = at_work(connection, visitor).settings
            if settings.kind == "references":
                raise HTTPException(409, "not_possible")  # it has no questions
            asked = None
            if settings.kind == "chat":
                asked = questions_after(
                    settings, chat.reply_places(connection, settings, visitor.person, given.assignment)
                )
            answers.submit(
                connection, settings, visitor.person, given.assignment, given.submission, given.answers, PAGE_VERSION,
                asked=asked,
            )  # fmt: skip
    except answers.IncompleteError as error:
        return JSONResponse({"error": "incomplete", "problems": list(map(asdict, error.problems))}, 422)
    stop = None
    if settings.stop_when_settled:
        worker: StudyWorker = request.app.state.worker
        stop = BackgroundTask(worker.stop_when_settled, visitor.task or 0, given.assignment)
    return JSONResponse({"stored": True}, background=stop)

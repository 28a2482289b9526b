# SPDX-License-Identifier: Apache-2.0
"""The app: pages and a small JSON interface for annotators. Administrators' pages are in `admin/admin_routes.py`.

An annotator's response contains only their own items, without ids of samples and names of systems.

The calls of a request, in their order:

1. `access/security.py`: `Protected` limits rate and size, and adds the headers of the response.
2. `access/visitors.py`: `sessions` finds the person by their cookie; `annotator` or `admin` checks the CSRF token, and
   the right that `access/roles.py` names for the route.
3. A route of this module, `chat/chat_routes.py`, `references/references_routes.py` or `admin/admin_routes.py`, which
   opens one transaction: `Database.reading` or `Database.writing`.
4. `home` → `_page`: `studies/tasks.get_task`, `work/assign.next_item`, `work/answers.get_draft`, then a page of
   `pages.Pages`, rendered after the transaction.
5. `take_answers`: `access/visitors.at_work`, `work/answers.submit` (checks, then stores), then in the background
   `admin/stop.stop_when_settled`.
6. Errors become a page or JSON in `_failure`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import Field, field_validator
from sqlalchemy import Connection
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException  # includes those of unknown paths
from starlette.middleware.trustedhost import TrustedHostMiddleware

from interloq.errors import InputError
from interloq.trust import Trust
from interloq.web.access import joining, people
from interloq.web.access.people import Visitor
from interloq.web.access.security import (
    ADMIN_COOKIE,
    BROWSER_COOKIE,
    COOKIE,
    HOST,
    NEWCOMERS,
    Buckets,
    Protected,
    network_of,
)
from interloq.web.access.visitors import Annotator, Known, OwnAssignment, at_work, database
from interloq.web.admin import admin_routes as admin
from interloq.web.admin.stop import stop_when_settled
from interloq.web.chat import chat_routes
from interloq.web.chat import conversations as chat
from interloq.web.chat.chat_bots import ChatBots
from interloq.web.chat.chat_task import NO_LIMIT, Limit, asked_after
from interloq.web.database import Database, UnusableStudyError
from interloq.web.pages import PAGE_VERSION, Pages
from interloq.web.references import reference_steps as references
from interloq.web.references import references_routes
from interloq.web.studies.questions import LARGEST
from interloq.web.studies.tasks import get_task, number_of_pages
from interloq.web.work import answers, assign

STATIC = Path(__file__).parent / "static"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
RETRY_AFTER = "30"  # seconds
_LOG = logging.getLogger("uvicorn.error")
SESSION_SECONDS = people.SESSION_DAYS * 86_400
BROWSER_SECONDS = 400 * 86_400  # browsers keep no cookie for longer


@dataclass(frozen=True)
class Study:
    """An open database to serve, the key of pseudonyms, and the host names it answers to."""

    database: Database
    key: str
    hosts: tuple[str, ...] = LOOPBACK
    secure: bool = False  # cookies only over https
    public: str = ""  # address that people open; empty: the one an administrator uses
    trust_administrators: bool = False  # they may add chats with bots that need trust
    trust: Trust = None  # told what bots do besides talking; None: such bots are not used
    limit: Limit = NO_LIMIT  # of calls of bots and their cost, over all tasks

    @property
    def root(self) -> str:
        """Path of the pages at the public address; empty unless a reverse proxy serves other pages as well."""
        return urlsplit(self.public).path.rstrip("/")

    @property
    def origin(self) -> str:
        """Origin of the pages at the public address."""
        parts = urlsplit(self.public)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def cookies(self) -> tuple[str, str]:
        """Names of the cookies of an annotator's and of an administrator's session; a browser may have both."""
        return self.cookie(COOKIE), self.cookie(ADMIN_COOKIE)

    def cookie(self, name: str) -> str:
        """The name of a cookie, with the prefix that protects it where browsers accept one."""
        return f"{HOST}{name}" if self.secure and not self.root else name

    def set_cookie(self, response: Response, name: str, secret: str, seconds: int) -> None:
        """Let a response set a cookie that scripts and other sites cannot use."""
        response.set_cookie(
            self.cookie(name), secret, max_age=seconds, path=f"{self.root}/", httponly=True, samesite="lax",
            secure=self.secure,
        )  # fmt: skip


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


def create_app(study: Study) -> Any:
    """The app as ASGI, with its protection around it."""
    app = FastAPI(
        title="Interloq", docs_url=None, redoc_url=None, openapi_url=None, lifespan=_lifespan, redirect_slashes=False
    )
    app.state.study, app.state.pages, app.state.bots = study, Pages(study.root), ChatBots(study.trust)
    app.state.newcomers = Buckets(NEWCOMERS / 3600, NEWCOMERS)  # by address, which is not stored
    app.state.figures = {}  # of administrators' pages, by task
    app.state.totals = {}  # pages that one person can get, by task; a task's items never change
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.exception_handler(HTTPException)(_refused)
    app.exception_handler(RequestValidationError)(_invalid)
    app.exception_handler(InputError)(_input_error)
    app.exception_handler(UnusableStudyError)(_unusable)
    app.exception_handler(Exception)(_internal)
    app.get("/health")(health)
    app.get("/worker.js")(worker)
    app.get("/offline")(offline)
    app.get("/join/{token}")(join)
    app.get("/")(home)
    app.post("/consent")(give_consent)
    app.post("/withdraw")(withdraw)
    app.post("/api/draft")(keep_draft)
    app.post("/api/answers")(take_answers)
    app.include_router(admin.router)
    chat_routes.register(app)
    references_routes.register(app)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(study.hosts))
    return Protected(app, root=study.root, busy_page=partial(app.state.pages.failure, "busy", ""))


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    app.state.bots.close()


# ---- pages -----------------------------------------------------------------------------------------------------------


def health() -> dict[str, str]:
    """For load balancers and tests."""
    return {"status": "ok"}


def worker() -> Response:
    """The service worker; it can keep pages below its own address only, so it is not a static file."""
    return FileResponse(STATIC / "worker.js", media_type="text/javascript")


def offline(request: Request) -> Response:
    """A page that browsers keep and show without a connection; it contains nothing about anybody."""
    pages: Pages = request.app.state.pages
    return HTMLResponse(pages.failure("offline", "", request.headers.get("accept-language", "")))


def join(request: Request, token: str) -> Response:
    """Start a session from an invitation, and leave its secret out of all further addresses."""
    study: Study = request.app.state.study
    browser = joining.Browser(
        request.cookies.get(study.cookie(BROWSER_COOKIE), ""), request.cookies.get(study.cookie(COOKIE), "")
    )
    may_come = partial(request.app.state.newcomers.take, network_of(request.scope))
    with database(request).writing() as connection:
        parameters = dict(request.query_params)
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


def home(request: Request, visitor: Known) -> Response:
    """The page that a person needs now."""
    if visitor.task is None:
        return RedirectResponse(f"{request.app.state.study.root}/admin", status_code=303)
    with database(request).writing() as connection:
        draw = _page(connection, request.app.state, visitor, visitor.task)
    return HTMLResponse(draw())  # after the transaction, so that nobody waits for a page to be drawn


def _page(connection: Connection, state: Any, visitor: Visitor, task: int) -> Callable[[], str]:
    """The page, not rendered yet."""
    stored, pages = get_task(connection, task), state.pages
    settings = stored.settings
    if visitor.withdrawn:
        return partial(pages.message, settings, "withdrawn")
    if settings.consent and not visitor.consented:
        return partial(pages.consent, settings, visitor)
    done = assign.finished(connection, stored.id, visitor.person)
    if task not in state.totals:
        state.totals[task] = number_of_pages(connection, task)
    total = min(settings.most_items or LARGEST, state.totals[task])
    assigned = assign.next_item(connection, stored, visitor.person)
    if assigned is None:
        return partial(pages.done, settings, visitor, done)
    draft = answers.get_draft(connection, assigned.id)
    if settings.kind == "references":
        work = references.get_work(connection, settings, visitor.person, assigned.id)
        return partial(pages.references, settings, visitor, assigned, work, draft, done, total)
    if settings.kind != "chat":
        return partial(pages.item, settings, visitor, assigned, draft, done, total)
    talk = chat.get_chat(connection, settings, visitor.person, assigned.id)
    if talk.ended:
        return partial(pages.chat_questions, settings, visitor, talk, draft, done, total)
    return partial(pages.chat, settings, visitor, talk, done, total)


# ---- changes ---------------------------------------------------------------------------------------------------------


def give_consent(request: Request, visitor: Annotator) -> dict[str, bool]:
    """Record consent."""
    with database(request).writing() as connection:
        people.consent(connection, visitor.person)
    return {"stored": True}


def withdraw(request: Request, visitor: Annotator) -> dict[str, bool]:
    """Delete everything that the person entered."""
    with database(request).writing() as connection:
        people.withdraw(connection, visitor.person)
    return {"stored": True}


def keep_draft(request: Request, visitor: Annotator, draft: Draft) -> dict[str, int]:
    """Keep what was typed so far, and note that the person is at work. The browser keeps it as well."""
    with database(request).writing(wait_for_disk=False) as connection:
        kept = answers.save_draft(connection, visitor.person, draft.assignment, draft.revision, draft.body)
        assign.keep(connection, draft.assignment, visitor.person)
    return {"revision": kept}


def take_answers(request: Request, visitor: Annotator, given: Submission) -> JSONResponse:
    """Store the answers to an item; with problems, nothing is stored and each is named."""
    try:
        with database(request).writing() as connection:
            settings = at_work(connection, visitor).settings
            if settings.kind == "references":
                raise HTTPException(409, "not_possible")  # it has no questions
            asked = None
            if settings.kind == "chat":
                asked = asked_after(settings, chat.reply_places(connection, settings, visitor.person, given.assignment))
            answers.submit(
                connection, settings, visitor.person, given.assignment, given.submission, given.answers, PAGE_VERSION,
                asked=asked,
            )  # fmt: skip
    except answers.IncompleteError as error:
        return JSONResponse({"error": "incomplete", "problems": list(map(asdict, error.problems))}, 422)
    stop = None
    if settings.stop_when_settled:
        stop = BackgroundTask(stop_when_settled, database(request), visitor.task or 0, given.assignment)
    return JSONResponse({"stored": True}, background=stop)


# ---- errors ----------------------------------------------------------------------------------------------------------


def _refused(request: Request, error: Any) -> Response:
    return _failure(request, error.status_code, str(error.detail))


def _invalid(request: Request, _: Any) -> Response:
    return _failure(request, 422, "not_valid")


def _input_error(request: Request, error: Any) -> Response:
    return _failure(request, 409, "not_possible", error.what)


def _unusable(request: Request, error: Any) -> Response:
    _LOG.error("%s", error)
    response = _failure(request, 503, "busy")
    response.headers["Retry-After"] = RETRY_AFTER
    return response


def _internal(request: Request, _: Exception) -> Response:
    return _failure(request, 500, "internal")  # the server logs it


def _failure(request: Request, status: int, reason: str, detail: str = "") -> Response:
    """A page for people and JSON for scripts; never a traceback or anything of another person."""
    if "text/html" in request.headers.get("accept", ""):
        pages: Pages = request.app.state.pages
        return HTMLResponse(pages.failure(reason, detail, request.headers.get("accept-language", "")), status)
    return JSONResponse({"error": reason, "detail": detail}, status)

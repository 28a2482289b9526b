# SPDX-License-Identifier: Apache-2.0
"""The study that is served, and who sends a request: an annotator at work or an administrator, with a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection
from starlette.exceptions import HTTPException

from interloq.trust import Trust
from interloq.web.access import people
from interloq.web.access.people import ROUTES, Visitor
from interloq.web.access.security import ADMIN_COOKIE, COOKIE, CSRF_HEADER, HOST, from_our_page
from interloq.web.chat.chat_task import NO_LIMIT, Limit
from interloq.web.database import Database
from interloq.web.serve_options import LOOPBACK
from interloq.web.studies.tasks import Stored, get_task

Number = Annotated[int, Field(ge=1, lt=2**63)]  # of a row: databases have no larger ones
MOST_PLACES = 10**6


@dataclass(frozen=True)
class Study:
    """An open database to serve, the key of pseudonyms, and the host names it answers to."""

    database: Database
    key: str
    hosts: tuple[str, ...] = LOOPBACK
    secure: bool = False  # cookies only over https
    public: str = ""  # address that people open; empty: the one an administrator uses
    trust_administrators: bool = False  # they may add chats with bots that need trust
    trust: Trust = None  # called with what bots do besides talking; None: such bots are not used
    limit: Limit = NO_LIMIT  # of calls of bots and their cost, over all tasks
    shared: bool = False  # whether other processes serve the study too

    @property
    def root(self) -> str:
        """Path of the pages at the public address; empty unless a reverse proxy serves other pages as well."""
        return urlsplit(self.public).path.rstrip("/")

    @property
    def origin(self) -> str:
        """The origin of the pages at the public address."""
        parts = urlsplit(self.public)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def cookies(self) -> tuple[str, str]:
        """Names of the cookies of an annotator's and of an administrator's session; a browser may have both."""
        return self.cookie(COOKIE), self.cookie(ADMIN_COOKIE)

    def cookie(self, name: str) -> str:
        """Return the name of a cookie, with the prefix that protects it where browsers accept one."""
        return f"{HOST}{name}" if self.secure and not self.root else name

    def set_cookie(self, response: Response, name: str, secret: str, seconds: int) -> None:
        """Let a response set a cookie that scripts and other sites cannot use."""
        response.set_cookie(
            self.cookie(name), secret, max_age=seconds, path=f"{self.root}/", httponly=True, samesite="lax",
            secure=self.secure,
        )  # fmt: skip


class OwnAssignment(BaseModel):
    """An assignment of the person."""

    model_config = ConfigDict(extra="forbid")
    assignment: Number


class Place(OwnAssignment):
    """The number of turns or steps that the page knows of an assignment: the place of the next one."""

    place: int = Field(ge=0, le=MOST_PLACES)


async def get_database(request: Request) -> Database:
    """Return the database of the study.

    Routes open their transactions themselves. If a dependency kept one open, a request would hold the write lock while
    it waits for a thread, and requests that wait for the lock would hold all threads: 60 annotators would stop such a
    server.
    """
    study: Study = request.app.state.study
    return study.database


StudyDatabase = Annotated[Database, Depends(get_database)]


def sessions(request: Request, database: StudyDatabase) -> list[Visitor]:
    """Return the people whose sessions this browser has, an annotator first; 401 without a session."""
    visitors = []
    for name in request.app.state.study.cookies:
        if cookie := request.cookies.get(name):
            with database.reading() as connection:
                visitor = people.visitor(connection, cookie)
            if visitor is not None:
                visitors.append(visitor)
    if not visitors:
        raise HTTPException(401, "no_session")
    return visitors


Sessions = Annotated[list[Visitor], Depends(sessions)]


def require_visitor(visitors: Sessions) -> Visitor:
    """Return the annotator or, failing that, the administrator of this session."""
    return visitors[0]


async def annotator(request: Request, visitors: Sessions) -> Visitor:
    """Return a person at work: with a task, and with a CSRF token if something is changed."""
    for visitor in visitors:
        if visitor.role == "annotator" and visitor.task is not None:
            _check_origin(request, visitor)
            return visitor
    raise HTTPException(403, "not_allowed")


async def admin(request: Request, visitors: Sessions) -> Visitor:
    """Return an administrator with the right that this route needs, and a CSRF token if something is changed."""
    needed = ROUTES.get(request.scope["route"].path)
    for visitor in visitors:
        if needed in visitor.rights:
            _check_origin(request, visitor)
            return visitor
    raise HTTPException(403, "not_allowed")


def _check_origin(request: Request, visitor: Visitor) -> None:
    if request.method == "GET":
        return
    given, origin = request.headers.get(CSRF_HEADER, ""), request.app.state.study.origin
    if not from_our_page(request.headers, visitor.csrf, given, public=origin):
        raise HTTPException(403, "not_our_page")


Known = Annotated[Visitor, Depends(require_visitor)]
Annotator = Annotated[Visitor, Depends(annotator)]
Admin = Annotated[Visitor, Depends(admin)]


def at_work(connection: Connection, visitor: Visitor) -> Stored:
    """Return the task of a person who may enter something: one who consented, if needed, and did not withdraw."""
    if visitor.withdrawn:
        raise HTTPException(403, "withdrawn")
    stored = get_task(connection, visitor.task or 0)
    if stored.settings.consent and not visitor.consented:
        raise HTTPException(403, "no_consent")
    return stored

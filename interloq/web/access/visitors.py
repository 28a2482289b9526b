# SPDX-License-Identifier: Apache-2.0
"""Who sends a request: a person with a session, an annotator at work, or an administrator; and for which assignment."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection
from starlette.exceptions import HTTPException

from interloq.web.access import people
from interloq.web.access.people import Visitor
from interloq.web.access.roles import ROUTES
from interloq.web.access.security import CSRF_HEADER, from_our_page
from interloq.web.database import Database
from interloq.web.studies.tasks import Stored, get_task

Number = Annotated[int, Field(ge=1, lt=2**63)]  # of a row: databases have no larger ones
MOST_PLACES = 10**6


class OwnAssignment(BaseModel):
    """An assignment of the person."""

    model_config = ConfigDict(extra="forbid")
    assignment: Number


class Place(OwnAssignment):
    """The number of turns or steps that the page knows of an assignment: the place of the next one."""

    place: int = Field(ge=0, le=MOST_PLACES)


def database(request: Request) -> Database:
    """The database of the study."""
    study_database: Database = request.app.state.study.database
    return study_database


def sessions(request: Request) -> list[Visitor]:
    """The people whose sessions this browser has, an annotator first; 401 without a session."""
    visitors = []
    for name in request.app.state.study.cookies:
        if cookie := request.cookies.get(name):
            with database(request).reading() as connection:
                visitor = people.visitor(connection, cookie)
            if visitor is not None:
                visitors.append(visitor)
    if not visitors:
        raise HTTPException(401, "no_session")
    return visitors


Sessions = Annotated[list[Visitor], Depends(sessions)]


def known(visitors: Sessions) -> Visitor:
    """The annotator whose session this is, or else the administrator."""
    return visitors[0]


async def annotator(request: Request, visitors: Sessions) -> Visitor:
    """A person at work: with a task, and with a CSRF token if something is changed."""
    for visitor in visitors:
        if visitor.role == "annotator" and visitor.task is not None:
            _check_origin(request, visitor)
            return visitor
    raise HTTPException(403, "not_allowed")


async def admin(request: Request, visitors: Sessions) -> Visitor:
    """An administrator with the right that this route needs, and with a CSRF token if something is changed."""
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


Known = Annotated[Visitor, Depends(known)]
Annotator = Annotated[Visitor, Depends(annotator)]
Admin = Annotated[Visitor, Depends(admin)]


def at_work(connection: Connection, visitor: Visitor) -> Stored:
    """The task of a person who may enter something: who consented, if that is asked for, and did not withdraw."""
    if visitor.withdrawn:
        raise HTTPException(403, "withdrawn")
    stored = get_task(connection, visitor.task or 0)
    if stored.settings.consent and not visitor.consented:
        raise HTTPException(403, "no_consent")
    return stored

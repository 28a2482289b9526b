# SPDX-License-Identifier: Apache-2.0
"""Administrators' pages: tasks and their figures, invitations, export, and making a task from a file.

Every route depends on `Admin`: only administrators with the right that `access/people.py` names for it reach it, and
changes need the CSRF token of the session.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection, exists, func, select
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from interloq.data.pseudonyms import Pseudonyms
from interloq.web.access import joining, people
from interloq.web.access.people import Right, Visitor
from interloq.web.access.visitors import Admin, Number, Study, StudyDatabase, admin
from interloq.web.admin import collected
from interloq.web.admin.kind_figures import outcomes
from interloq.web.admin.study_worker import StudyWorker
from interloq.web.admin.task_figures import Collected, figures
from interloq.web.chat.chat_budget import check_costs, cost_of, set_task_limit, study_budget, task_budget
from interloq.web.chat.chat_export import send_to_outsiders
from interloq.web.chat.chat_task import Limit
from interloq.web.chat.conversations import all_chats
from interloq.web.database import Database
from interloq.web.messages import choose_language, render
from interloq.web.pages import Pages
from interloq.web.schema import assignment, invitation, item, person, task
from interloq.web.serve_options import MOST_PEOPLE, ExportOptions
from interloq.web.studies.export import export_task
from interloq.web.studies.forget import forget_person, note_export
from interloq.web.studies.questions import LARGEST
from interloq.web.studies.tasks import Stored, all_tasks, close_task, get_task, number_of_items
from interloq.web.studies.upload import Upload, prepare

router = APIRouter(prefix="/admin", dependencies=[Depends(admin)])
MOST_LINKS = 500  # at once
ACTIONS: Mapping[str, Right] = {"readmit": "invite", "forget": "delete"}  # on a person


class Closing(BaseModel):
    """Whether a task has stopped giving out items."""

    model_config = ConfigDict(extra="forbid")
    closed: bool


class SpendingLimit(BaseModel):
    """What all people together may spend on the bots of a chat."""

    model_config = ConfigDict(extra="forbid")
    calls: int = Field(ge=0, le=10**9)
    cost: float | None = Field(None, ge=0, le=10**9)


class Invitations(BaseModel):
    """Invitations to make; with a parameter, one link serves everybody, each with their own id."""

    model_config = ConfigDict(extra="forbid")
    number: int = Field(1, ge=1, le=MOST_LINKS)
    label: str = Field("", max_length=people.LONGEST_LABEL)
    parameter: str = Field("", max_length=people.LONGEST_PARAMETER, pattern=r"^\w*$")
    most_people: int = Field(MOST_PEOPLE, ge=1, le=LARGEST)


class AdministratorInvitations(BaseModel):
    """Invitations of administrators to make."""

    model_config = ConfigDict(extra="forbid")
    number: int = Field(1, ge=1, le=MOST_LINKS)
    label: str = Field("", max_length=people.LONGEST_LABEL)
    role: Literal["viewer", "lead", "owner"] = "owner"


@router.get("")
def overview(request: Request, database: StudyDatabase, visitor: Admin) -> Response:
    """Show all tasks with their progress and, for owners, the administrators' invitations."""
    with database.reading() as connection:
        rows = [_progress(connection, stored) for stored in all_tasks(connection)]
        links = []
        if "administer" in visitor.rights:
            links = _invitations(connection, None)
    return _page(request, "admin_overview.html", visitor, tasks=rows, invitations=links, facts={})


@router.get("/new")
def new_task(request: Request, visitor: Admin) -> Response:
    """Show the form that makes a task from a file."""
    return _page(request, "admin_new.html", visitor, facts={})


@router.get("/tasks/{number}")
def task_page(request: Request, database: StudyDatabase, visitor: Admin, number: Number) -> Response:
    """Show one task with its figures, which update themselves."""
    with database.reading() as connection:
        stored = _get_task(connection, number)
        links = _invitations(connection, number)
        budget = None
        if stored.settings.kind == "chat":
            budget = task_budget(connection, stored)
    facts = _show_figures(request, visitor, number)
    return _page(request, "admin_task.html", visitor, stored=stored, invitations=links, budget=budget, facts=facts)


@router.get("/tasks/{number}/figures")
def task_figures(request: Request, database: StudyDatabase, visitor: Admin, number: Number, seen: str = "") -> Response:
    """Return the figures, or nothing (204) if the page has them already."""
    with database.reading() as connection:
        if _state(connection, _get_task(connection, number), request.app.state.study.limit) == seen:
            return Response(status_code=204)
    return JSONResponse(_show_figures(request, visitor, number))


@router.get("/tasks/{number}/export")
def export(request: Request, database: StudyDatabase, number: Number, alone: bool = False) -> Response:
    """Send the answers so far as a file, with pseudonyms; `alone` gives ratings without the rated records."""
    with TemporaryDirectory() as folder, database.reading() as connection:
        stored = _get_task(connection, number)
        path = Path(folder) / "export.jsonl"
        wrote = export_task(connection, stored, path, _pseudonyms(request), ExportOptions(alone=alone))
        content = path.read_bytes()
    with database.writing() as connection:
        note_export(connection, number, None)
    name = f"task-{number}-{wrote['kind']}.jsonl"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type="application/x-ndjson", headers=headers)


@router.post("/tasks/{number}/close")
def close(database: StudyDatabase, number: Number, wanted: Closing) -> dict[str, bool]:
    """Stop giving out items, or start again."""
    with database.writing() as connection:
        close_task(connection, _get_task(connection, number).id, closed=wanted.closed)
    return {"closed": wanted.closed}


@router.post("/tasks/{number}/limit")
def limit(database: StudyDatabase, number: Number, wanted: SpendingLimit) -> dict[str, bool]:
    """Change how often all people together may ask the bots of a chat, and what that may cost."""
    with database.writing() as connection:
        stored = _get_task(connection, number)
        if stored.settings.kind != "chat":
            raise HTTPException(404, "not_found")
        set_task_limit(connection, stored, wanted.calls, wanted.cost)
    return {"stored": True}


@router.post("/tasks/{number}/outsiders")
def outsiders(request: Request, database: StudyDatabase, number: Number) -> dict[str, int]:
    """Make a task in which blind outsiders rate the conversations of a chat."""
    with database.writing() as connection:
        return {"number": send_to_outsiders(connection, _get_task(connection, number), _pseudonyms(request))}


@router.post("/tasks/{number}/invitations")
def invite(request: Request, database: StudyDatabase, number: Number, wanted: Invitations) -> dict[str, list[str]]:
    """Make links to a task; they cannot be shown again."""
    with database.writing() as connection:
        paths = people.invite_to_task(
            connection, _get_task(connection, number).id, number=wanted.number, label=wanted.label,
            parameter=wanted.parameter, most_people=wanted.most_people,
        )  # fmt: skip
    return {"links": [_link(request, path) for path in paths]}


@router.post("/administrators")
def invite_administrator(
    request: Request, database: StudyDatabase, wanted: AdministratorInvitations
) -> dict[str, list[str]]:
    """Make links for administrators."""
    with database.writing() as connection:
        made = [people.invite(connection, None, role=wanted.role, label=wanted.label) for _ in range(wanted.number)]
    return {"links": [_link(request, people.invitation_path(token)) for token in made]}


@router.post("/invitations/{number}/revoke")
def revoke(database: StudyDatabase, visitor: Admin, number: Number) -> dict[str, bool]:
    """End an invitation and its sessions; only owners can end administrators' invitations, and nobody their own."""
    with database.writing() as connection:
        own = select(person.c.invitation_id).where(person.c.id == visitor.person)
        if connection.execute(own).scalar_one() == number:
            raise HTTPException(409, "own_invitation")
        role = connection.execute(select(invitation.c.role).where(invitation.c.id == number)).scalar()
        if role is None:
            raise HTTPException(404, "not_found")
        if role != "annotator" and "administer" not in visitor.rights:
            raise HTTPException(403, "not_allowed")
        people.revoke(connection, number)
    return {"revoked": True}


@router.post("/people/{number}/readmit")
def readmit(database: StudyDatabase, number: Number) -> dict[str, bool]:
    """Let a person of a crowd platform continue in the next browser that opens the link with their id."""
    with database.writing() as connection:
        if not joining.readmit(connection, number):
            raise HTTPException(404, "not_found")
    return {"allowed": True}


@router.post("/people/{number}/forget")
def forget(database: StudyDatabase, number: Number) -> dict[str, bool]:
    """Delete an annotator with everything that they entered."""
    with database.writing() as connection:
        role = select(invitation.c.role).select_from(person.join(invitation)).where(person.c.id == number)
        if connection.execute(role).scalar() != "annotator":
            raise HTTPException(404, "not_found")
        forget_person(connection, number)
    return {"deleted": True}


@router.post("/upload")
async def upload(request: Request, visitor: Admin) -> Response:
    """Preview a task from uploaded files or, with `create`, make it. The form is read after the checks."""
    async with request.form(max_files=3, max_fields=20) as form:
        with TemporaryDirectory() as folder:
            given = await Upload.receive(form, Path(folder))
            made = await run_in_threadpool(_prepare_upload, request, visitor, given, create=form.get("create") == "yes")
            return JSONResponse(made)


def _prepare_upload(request: Request, visitor: Visitor, given: Upload, *, create: bool) -> dict[str, Any]:
    study: Study = request.app.state.study
    allowed = study.trust_administrators and visitor.role == "owner" and given.fields.get("trust") == "yes"
    prepared, preview = prepare(given, study.trust if allowed else None)
    check_costs([prepared.settings.task], study.limit)
    if not create:
        rendered: dict[str, Any] = render(preview, _language(request))
        return rendered
    with study.database.writing() as connection:
        return prepared.store(connection)


def _page(request: Request, template: str, visitor: Visitor, **values: Any) -> Response:
    pages: Pages = request.app.state.pages
    return HTMLResponse(pages.admin(template, visitor, _language(request), **values))


def _language(request: Request) -> str:
    return choose_language(request.headers.get("accept-language", ""))


def _get_task(connection: Connection, number: int) -> Stored:
    if not connection.execute(select(exists().where(task.c.id == number))).scalar_one():
        raise HTTPException(404, "not_found")
    return get_task(connection, number)


def _pseudonyms(request: Request) -> Pseudonyms:
    return Pseudonyms(request.app.state.study.key)


def _show_figures(request: Request, visitor: Visitor, number: int) -> dict[str, Any]:
    """Return the figures of a task in the language and with the actions of this administrator."""
    return with_allowed_actions(render(_get_figures(request, number), _language(request)), visitor.rights)


def with_allowed_actions(figures: Mapping[str, Any], rights: Collection[Right]) -> dict[str, Any]:
    """Return rendered figures with the actions on people that these rights allow.

    Only those who may invite people see their labels and ids; others see pseudonyms.
    """
    sections = []
    for section in figures["sections"]:
        rows = [_select_allowed_cells(row, rights) for row in section["rows"]]
        sections.append({**section, "rows": rows})
    return {**figures, "sections": sections}


def _select_allowed_cells(row: Sequence[Any], rights: Collection[Right]) -> list[Any]:
    cells = []
    for cell in row:
        if isinstance(cell, dict) and "identity" in cell:
            identity = cell["identity"] if "invite" in rights else []
            note = " · ".join(filter(None, [*identity, cell["note"]]))
            cells.append({"text": cell["text"], "note": note})
        elif isinstance(cell, dict) and "actions" in cell:
            actions = [action for action in cell["actions"] if ACTIONS[action] in rights]
            cells.append({**cell, "actions": actions})
        else:
            cells.append(cell)
    return cells


def _get_figures(request: Request, number: int) -> dict[str, Any]:
    """Return the figures of a task; computed once for all administrators who look at the same state."""
    known: dict[int, dict[str, Any]] = request.app.state.figures
    study: Study = request.app.state.study
    worker: StudyWorker = request.app.state.worker
    with request.app.state.computing[number]:
        with study.database.reading() as connection:
            state = _state(connection, _get_task(connection, number), study.limit)
        if number not in known or known[number]["state"] != state:
            known[number] = worker.compute(compute_figures, number, study.key, study.limit)
        return known[number]


def compute_figures(database: Database, number: int, key: str, limit: Limit) -> dict[str, Any]:
    """Return the figures of a task, with pseudonyms of its people by this key, and the state that they show."""
    with database.reading() as connection:
        stored = _get_task(connection, number)
        state = _state(connection, stored, limit)
        task_data = Collected(
            stored,
            collected.pages(connection, number),
            collected.clusters(connection, number),
            collected.people(connection, number),
            collected.count_invited(connection, number),
            outcomes(connection, stored),
        )
        if stored.settings.kind == "chat":
            task_data = replace(
                task_data,
                chats=all_chats(connection, stored.settings, number),
                budget=task_budget(connection, stored),
                study_budget=study_budget(connection, limit),
            )
    return {"task": number, "state": state, "closed": stored.closed, **figures(task_data, Pseudonyms(key))}


def _state(connection: Connection, stored: Stored, limit: Limit) -> str:
    """Return a text that changes when the figures do; calls of bots count in steps, because there are many."""
    state = f"{collected.state(connection, stored.id)}-{'closed' if stored.closed else 'open'}"
    if stored.settings.kind == "chat":
        study_allows = study_budget(connection, limit).allows(cost_of(stored.settings))
        state += f"-{task_budget(connection, stored).state}-{study_allows}"
    return state


def _progress(connection: Connection, stored: Stored) -> dict[str, Any]:
    done = select(func.count()).select_from(assignment.join(item, item.c.id == assignment.c.item_id))
    done = done.where(assignment.c.task_id == stored.id, assignment.c.finished.is_not(None), item.c.correct.is_(None))
    wanted = number_of_items(connection, stored.id) * stored.settings.per_item
    return {"stored": stored, "done": connection.execute(done).scalar_one(), "wanted": wanted}


def _invitations(connection: Connection, number: int | None) -> list[dict[str, Any]]:
    """Return invitations that were not revoked, with the number of people who came."""
    wanted = invitation.c.task_id.is_not_distinct_from(number)
    came = select(func.count()).where(person.c.invitation_id == invitation.c.id).scalar_subquery()
    rows = connection.execute(
        select(invitation, came.label("came")).where(wanted, invitation.c.revoked.is_(None)).order_by(invitation.c.id)
    )
    shown = ("id", "label", "role", "parameter", "came", "most_people")
    invitations = []
    for row in rows.mappings():
        created = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(row["created"]))
        invitations.append({**{name: row[name] for name in shown}, "created": created})
    return invitations


def _link(request: Request, path: str) -> str:
    base = request.app.state.study.public or str(request.base_url)
    return base.rstrip("/") + path

# SPDX-License-Identifier: Apache-2.0
"""People of a study: invitations by link, sessions by cookie, consent, and what each role may do.

`joining.py` starts sessions, `studies/forget.py` deletes people. A route of administrators that is not listed in
`ROUTES` is refused to everybody.

Links and cookies are random; the database stores only their hashes, so a stolen copy of it opens nothing.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import quote

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from interloq.errors import InputError, short_repr
from interloq.web.schema import invitation, person, session
from interloq.web.serve_options import MOST_PEOPLE
from interloq.web.studies.questions import LARGEST
from interloq.web.studies.tasks import owners_of_items

LONGEST_LABEL, LONGEST_PARAMETER = 80, 40  # characters
OWNER = "user"  # parameter of links for participants to whom items belong
SESSION_DAYS = 60
_VISITOR = (  # made once: every request reads it
    select(
        person.c.id,
        person.c.consented,
        person.c.withdrawn,
        person.c.created,
        invitation.c.role,
        invitation.c.task_id,
        session.c.csrf,
    )
    .join(person, person.c.id == session.c.person_id)
    .join(invitation, invitation.c.id == person.c.invitation_id)
    .where(
        session.c.token == bindparam("hashed"), session.c.created > bindparam("oldest"), invitation.c.revoked.is_(None)
    )
)
Role = Literal["annotator", "viewer", "lead", "owner"]
Right = Literal["see", "export", "change", "invite", "delete", "administer"]
ADMINISTRATORS: tuple[Role, ...] = ("viewer", "lead", "owner")
RIGHTS: Mapping[Role, frozenset[Right]] = {
    "annotator": frozenset(),
    "viewer": frozenset({"see"}),
    "lead": frozenset({"see", "export", "change", "invite"}),
    "owner": frozenset(get_args(Right)),
}
ROUTES: Mapping[str, Right] = {
    "/admin": "see",
    "/admin/tasks/{number}": "see",
    "/admin/tasks/{number}/figures": "see",
    "/admin/tasks/{number}/export": "export",
    "/admin/tasks/{number}/close": "change",
    "/admin/tasks/{number}/outsiders": "change",
    "/admin/tasks/{number}/limit": "change",
    "/admin/new": "change",
    "/admin/upload": "change",
    "/admin/tasks/{number}/invitations": "invite",
    "/admin/invitations/{number}/revoke": "invite",  # one of an administrator: "administer"
    "/admin/people/{number}/readmit": "invite",
    "/admin/people/{number}/forget": "delete",
    "/admin/administrators": "administer",
}


@dataclass(frozen=True)
class Visitor:
    """A person with a session."""

    person: int
    role: Role
    task: int | None  # administrators have none
    csrf: str
    consented: bool
    withdrawn: bool
    since: float  # time of the first visit

    @property
    def rights(self) -> frozenset[Right]:
        """What an administrator may do; annotators have no rights."""
        return RIGHTS.get(self.role, frozenset())


def invite(
    connection: Connection,
    task: int | None,
    *,
    role: Role = "annotator",
    label: str = "",
    parameter: str = "",
    most_people: int = MOST_PEOPLE,
) -> str:
    """Create an invitation and return its secret. With a `parameter`, one link serves many people, told apart by it."""
    if role not in (ADMINISTRATORS if task is None else ("annotator",)):
        raise InputError("annotators are invited to one task, administrators to the whole study")
    if parameter and role != "annotator":
        raise InputError("a link with a parameter is for many annotators; administrators get one link each")
    if len(label) > LONGEST_LABEL or len(parameter) > LONGEST_PARAMETER:
        what = f"a label has at most {LONGEST_LABEL} characters, a parameter at most {LONGEST_PARAMETER}"
        raise InputError(f"{what}, got {short_repr(label)} and {short_repr(parameter)}")
    if not 1 <= most_people <= LARGEST:
        raise InputError(f"the number of people must be from 1 to {LARGEST:,}, got {most_people}")
    token = secrets.token_urlsafe(24)
    row = {"task_id": task, "token": digest(token), "role": role, "label": label, "parameter": parameter}
    connection.execute(insert(invitation).values(**row, most_people=most_people, created=time.time()))
    return token


def invite_to_task(
    connection: Connection, task: int, *, number: int, label: str, parameter: str, most_people: int
) -> list[str]:
    """Create invitations to a task and return the paths of their links.

    If items belong to participants, each of them gets a link; with a `parameter`, they bring their own ids.
    """
    owners = owners_of_items(connection, task)
    if owners and not parameter:
        token = invite(connection, task, label=label, parameter=OWNER, most_people=len(owners))
        return [f"/join/{token}?{OWNER}={quote(owner, safe='')}" for owner in owners]
    paths = []
    for _ in range(number):
        token = invite(connection, task, label=label, parameter=parameter, most_people=most_people)
        paths.append(invitation_path(token, parameter))
    return paths


def invitation_path(token: str, parameter: str = "") -> str:
    """Return the path of an invitation's link; crowd platforms replace `{{%NAME%}}` by the participant's id."""
    path = f"/join/{token}"
    if parameter:
        path += f"?{parameter}={{{{%{parameter}%}}}}"
    return path


def revoke(connection: Connection, invitation_id: int) -> None:
    """End an invitation and the sessions that came from it; answers are kept."""
    connection.execute(update(invitation).where(invitation.c.id == invitation_id).values(revoked=time.time()))
    people = select(person.c.id).where(person.c.invitation_id == invitation_id)
    connection.execute(delete(session).where(session.c.person_id.in_(people)))


def visitor(connection: Connection, cookie: str) -> Visitor | None:
    """Return the person with this session; None if the session is missing or too old."""
    oldest = time.time() - SESSION_DAYS * 86_400
    row = connection.execute(_VISITOR, {"hashed": digest(cookie), "oldest": oldest}).one_or_none()
    if row is None:
        return None
    return Visitor(
        row.id, row.role, row.task_id, row.csrf, row.consented is not None, row.withdrawn is not None,
        row.created,
    )  # fmt: skip


def consent(connection: Connection, person_id: int) -> None:
    """Record consent, once."""
    unset = (person.c.id == person_id) & person.c.consented.is_(None)
    connection.execute(update(person).where(unset).values(consented=time.time()))


def raters(connection: Connection) -> dict[int, str]:
    """Return the ids of people that records name after hashing: a participant's id, or else the invitation's."""
    rows = connection.execute(
        select(person.c.id, person.c.participant, invitation.c.token).join(
            invitation, invitation.c.id == person.c.invitation_id
        )
    )
    return {row.id: row.participant or row.token for row in rows}


def digest(secret: str) -> str:
    """Return the hash of a secret; secrets are long and random, so no salt is needed."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()

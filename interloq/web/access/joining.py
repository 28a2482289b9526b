# SPDX-License-Identifier: Apache-2.0
"""Who enters by an invitation: one person by a personal link, or many by the link of a crowd platform.

In a platform's link, only the id in the address differs between people, and anybody can change it. So an id belongs to
the browser that first came with it: its cookie has a secret, of which the database stores a hash. Another browser gets
in only after an administrator has let the person continue elsewhere.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from starlette.exceptions import HTTPException

from interloq.web.access.people import Role, digest, visitor
from interloq.web.database import inserted_id, make_storable
from interloq.web.schema import invitation, person, session, task

LONGEST_ID = 200  # characters of a participant's id
# Sessions of a person; older ones end, so that a link that is opened again and again does not fill the database.
MOST_SESSIONS = 50
READMISSION = 86_400.0  # seconds in which a person may continue in another browser after an administrator allowed it
_TEMPLATE = re.compile(r"[{}<>\[\]$%]")  # what platforms replace, such as {{%PROLIFIC_PID%}} or ${workerId}
_NO_IDS = {"", "undefined", "null", "none", "nan", "assignment_id_not_available"}  # of scripts, and of a preview


@dataclass(frozen=True)
class Browser:
    """Secrets that a browser sends: its own, and the secret of an annotator's session."""

    secret: str = ""
    session: str = ""


@dataclass(frozen=True)
class NewSession:
    """A new session: the secret for its cookie, the role of the person, and the secret that the browser must keep."""

    secret: str
    role: Role
    browser: str = ""  # empty if a link is for one person: who has it may use any browser


def join(
    connection: Connection,
    token: str,
    parameters: Mapping[str, str],
    browser: Browser | None = None,
    *,
    may_come: Callable[[], bool] = lambda: True,
) -> NewSession | None:
    """Start a session for the bearer of an invitation; None if the invitation is not valid.

    `parameters` are the parameters of the URL, one of which the invitation may name. `may_come` is called before a new
    person enters by the link of a platform.
    """
    invited = connection.execute(
        select(invitation).where(invitation.c.token == digest(token), invitation.c.revoked.is_(None))
    ).one_or_none()
    if invited is None:
        return None
    if not invited.parameter:
        return NewSession(_new_session(connection, _only_person(connection, invited.id)), invited.role)
    participant = _read_participant(invited.parameter, parameters)
    browser = browser or Browser()
    secret = browser.secret or secrets.token_urlsafe(32)
    connection.execute(select(task.c.id).where(task.c.id == invited.task_id).with_for_update(key_share=True))
    known = _find_person(connection, invited, participant)
    if known is None:
        number = _add_person(connection, invited, participant, may_come)
    else:
        number = known.id
        _check_return(connection, known, browser)
    row = {"invitation_id": invited.id, "browser": _hash_browser(secret, participant), "readmitted": None}
    connection.execute(update(person).where(person.c.id == number).values(**row))
    return NewSession(_new_session(connection, number), invited.role, secret)


def readmit(connection: Connection, person_id: int) -> bool:
    """Let a person of a platform continue in the next browser that comes; False if there is no such person."""
    wanted = (person.c.id == person_id) & (person.c.participant != "")
    return bool(connection.execute(update(person).where(wanted).values(readmitted=time.time())).rowcount)


def _read_participant(parameter: str, parameters: Mapping[str, str]) -> str:
    """Return the id of a participant; 400 if there is none, or only the placeholder of a platform."""
    participant = make_storable(parameters.get(parameter, "")).strip()
    is_name = participant.casefold() in (*_NO_IDS, parameter.casefold())
    if is_name or len(participant) > LONGEST_ID or _TEMPLATE.search(participant):
        raise HTTPException(400, "no_participant")
    return participant


def _find_person(connection: Connection, invited: Any, participant: str) -> Any:
    """Return the person with this id in the task of an invitation, by whichever link they came; None if unknown."""
    return connection.execute(
        select(person)
        .join(invitation, invitation.c.id == person.c.invitation_id)
        .where(
            person.c.participant == participant, invitation.c.task_id == invited.task_id, invitation.c.parameter != ""
        )
        .order_by(person.c.invitation_id != invited.id, person.c.id)
        .limit(1)
    ).one_or_none()


def _add_person(connection: Connection, invited: Any, participant: str, may_come: Callable[[], bool]) -> int:
    came = select(func.count()).where(person.c.invitation_id == invited.id)
    if connection.execute(came).scalar_one() >= invited.most_people:
        raise HTTPException(403, "full")
    if not may_come():
        raise HTTPException(429, "too_many_people")
    row = {"invitation_id": invited.id, "participant": participant, "created": time.time()}
    return inserted_id(connection.execute(insert(person).values(**row)))


def _check_return(connection: Connection, known: Any, browser: Browser) -> None:
    """Refuse a browser that is not the person's; a browser allowed by an administrator ends earlier sessions."""
    returning = _hash_browser(browser.secret, known.participant)
    if known.browser is not None and secrets.compare_digest(known.browser, returning):
        return
    at_work = visitor(connection, browser.session)  # people who came before browsers had secrets
    if at_work is not None and at_work.person == known.id:
        return
    if known.readmitted is None or time.time() - known.readmitted > READMISSION:
        raise HTTPException(403, "other_browser")
    connection.execute(delete(session).where(session.c.person_id == known.id))


def _hash_browser(secret: str, participant: str) -> str:
    """Return the hash of a browser's secret; the id is part of it, so that the ids of one browser look unrelated."""
    return digest(f"{secret} {participant}")


def _only_person(connection: Connection, invitation_id: int) -> int:
    """Return the person of a link for one, created at the first visit; two first visits at once give one person."""
    known = select(person.c.id).where(person.c.invitation_id == invitation_id)
    number = connection.execute(known).scalar_one_or_none()
    if number is not None:
        return int(number)
    row: dict[str, Any] = {"invitation_id": invitation_id, "created": time.time()}
    try:
        with connection.begin_nested():
            return inserted_id(connection.execute(insert(person).values(**row)))
    except IntegrityError:
        return int(connection.execute(known).scalar_one())


def _new_session(connection: Connection, person_id: int) -> str:
    token = secrets.token_urlsafe(32)
    row = {"token": digest(token), "person_id": person_id, "csrf": secrets.token_urlsafe(24)}
    connection.execute(insert(session).values(**row, created=time.time()))
    own = session.c.person_id == person_id
    newest = select(session.c.token).where(own).order_by(session.c.created.desc()).limit(MOST_SESSIONS)
    connection.execute(delete(session).where(own, session.c.token.not_in(newest)))
    return token

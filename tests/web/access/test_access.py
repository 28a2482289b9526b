"""The modules of `interloq.web.access`: people, visitors. Invitations, sessions, consent, withdrawal and deletion."""

from __future__ import annotations

from itertools import pairwise

import pytest
from fastapi.routing import APIRoute
from sqlalchemy import func, select, update

from interloq.errors import InputError
from interloq.web.access import joining, people
from interloq.web.access.people import ADMINISTRATORS, RIGHTS, ROUTES, Visitor
from interloq.web.admin.admin_routes import router
from interloq.web.database import Database
from interloq.web.schema import METADATA, answer, assignment, invitation, item, person, session
from interloq.web.studies.forget import forget_person, withdraw_person
from interloq.web.work import assign
from tests.web.conftest import (
    Served,
    add_annotators,
    chat_task,
    finish_item,
    likert_task,
    replies,
    store_task,
    take_item,
)


def visit(study: Database, token: str, **participants: str) -> Visitor | None:
    """Open a link; return the person with the new session, None if the link is not valid."""
    with study.writing() as connection:
        entry = joining.join(connection, token, participants)
        return people.visitor(connection, entry.secret) if entry else None


def invite(study: Database, task: int | None, **options: str) -> str:
    """Return the secret of a new invitation."""
    with study.writing() as connection:
        return people.invite(connection, task, **options)  # type: ignore[arg-type]


def test_the_database_contains_no_secret(study: Database) -> None:
    stored = store_task(study, likert_task(), replies(1))
    token = invite(study, stored.id)
    with study.writing() as connection:
        entry = joining.join(connection, token, {})
        assert entry is not None
        kept = str([connection.execute(select(table)).all() for table in METADATA.sorted_tables])
    for secret in (token, entry.secret):
        assert people.digest(secret) in kept
        assert secret not in kept


def test_revoked_invitations_and_old_sessions_open_nothing(study: Database) -> None:
    stored = store_task(study, likert_task(), replies(1))
    token = invite(study, stored.id)
    with study.writing() as connection:
        entry = joining.join(connection, token, {})
        assert entry is not None
        assert people.visitor(connection, entry.secret)
        connection.execute(update(session).values(created=session.c.created - people.SESSION_DAYS * 86_400))
        assert people.visitor(connection, entry.secret) is None
        people.revoke(connection, connection.execute(select(invitation.c.id)).scalar_one())
    assert visit(study, token) is None


def test_roles_and_lengths_are_checked(study: Database) -> None:
    refused: list[tuple[int | None, dict[str, str]]] = [
        (None, {}), (1, {"role": "viewer"}), (None, {"role": "admin"}), (1, {"role": "admin"}),
        (1, {"label": "x" * 81}), (1, {"parameter": "x" * 41}), (None, {"role": "owner", "parameter": "PID"}),
    ]  # fmt: skip
    for task, options in refused:
        with pytest.raises(InputError):
            invite(study, task, **options)
    lead = visit(study, invite(study, None, role="lead"))
    assert lead is not None
    assert (lead.role, lead.task) == ("lead", None)


@pytest.mark.parametrize("forget", [False, True])
def test_withdrawing_and_forgetting_delete_what_a_person_entered(study: Database, forget: bool) -> None:
    stored = store_task(study, likert_task(per_item=1), replies(1))
    leaving, other = add_annotators(study, stored, 2)
    finish_item(study, stored, leaving, take_item(study, stored, leaving))
    with study.writing() as connection:
        people.consent(connection, leaving)
        if forget:
            assert forget_person(connection, leaving)
            assert not forget_person(connection, leaving)
        else:
            withdraw_person(connection, leaving)
    with study.writing() as connection:
        for table in (answer, assignment):
            assert connection.execute(select(func.count()).select_from(table)).scalar() == 0
        assert connection.execute(select(item.c.active)).scalar_one() == 0
        left = connection.execute(select(person.c.withdrawn, person.c.consented).where(person.c.id == leaving)).all()
        assert len(left) == (not forget)
        assert all(row.withdrawn is not None and row.consented is None for row in left)
        assert assign.next_item(connection, stored, other) is not None


def test_each_role_may_more_than_the_one_before_and_every_route_names_its_right() -> None:
    rights = [RIGHTS[role] for role in ("annotator", *ADMINISTRATORS)]
    assert all(less < more for less, more in pairwise(rights))
    assert set(ROUTES.values()) == RIGHTS["owner"]
    assert {route.path for route in router.routes if isinstance(route, APIRoute)} == set(ROUTES)


def test_a_turn_needs_consent_and_no_withdrawal(served: Served) -> None:
    someone = served.visit(served.add_chat(chat_task(consent="May we?")))
    turn = {"assignment": 1, "place": 0, "text": "Hi"}
    assert someone.post("/api/chat/say", turn).json()["error"] == "no_consent"
    with served.database.writing() as connection:
        withdraw_person(connection, connection.execute(select(person.c.id)).scalar_one())
    refused = someone.post("/api/chat/say", turn)
    assert (refused.status_code, refused.json()["error"]) == (403, "withdrawn")

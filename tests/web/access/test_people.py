"""People: invitations, sessions, consent, withdrawal and deletion."""

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
from interloq.web.work import answers, assign
from tests.web.conftest import annotators, likert_task, replies, stored_task


def visit(study: Database, token: str, **participants: str) -> Visitor | None:
    with study.writing() as connection:
        entry = joining.join(connection, token, participants)
        return people.visitor(connection, entry.secret) if entry else None


def cookie_of(entry: joining.NewSession | None) -> str:
    assert entry is not None
    return entry.secret


def invited(study: Database, task: int | None, **options: str) -> str:
    with study.writing() as connection:
        return people.invite(connection, task, **options)  # type: ignore[arg-type]


def test_the_database_contains_no_secret(study: Database) -> None:
    stored = stored_task(study, likert_task(), replies(1))
    token = invited(study, stored.id)
    with study.writing() as connection:
        cookie = cookie_of(joining.join(connection, token, {}))
        kept = str([connection.execute(select(table)).all() for table in METADATA.sorted_tables])
    assert people.digest(token) in kept
    assert people.digest(cookie) in kept
    assert token not in kept
    assert cookie not in kept


def test_revoked_invitations_and_old_sessions_open_nothing(study: Database) -> None:
    stored = stored_task(study, likert_task(), replies(1))
    token = invited(study, stored.id)
    with study.writing() as connection:
        cookie = cookie_of(joining.join(connection, token, {}))
        assert people.visitor(connection, cookie)
        connection.execute(update(session).values(created=session.c.created - people.SESSION_DAYS * 86_400))
        assert people.visitor(connection, cookie) is None
        people.revoke(connection, connection.execute(select(invitation.c.id)).scalar_one())
    assert visit(study, token) is None


def test_roles_and_lengths_are_checked(study: Database) -> None:
    roles = [(None, {}), (1, {"role": "viewer"}), (None, {"role": "admin"}), (1, {"role": "admin"})]
    for task, options in (
        *roles,
        (1, {"label": "x" * 81}),
        (1, {"parameter": "x" * 41}),
        (None, {"role": "owner", "parameter": "PID"}),
    ):
        with pytest.raises(InputError):
            invited(study, task, **options)
    found = visit(study, invited(study, None, role="lead"))
    assert found is not None
    assert (found.role, found.task) == ("lead", None)


@pytest.mark.parametrize("forget", [False, True])
def test_withdrawing_and_forgetting_delete_what_a_person_entered(study: Database, forget: bool) -> None:
    stored = stored_task(study, likert_task(per_item=1), replies(1))
    leaving, other = annotators(study, stored, 2)
    with study.writing() as connection:
        people.consent(connection, leaving)
        found = assign.next_item(connection, stored, leaving)
        assert found is not None
        given = [{"unit": unit, "aspect": "overall", "value": 3} for unit in (0, 1)]
        answers.submit(connection, stored.settings, leaving, found.id, "submission", given, "page")
    with study.writing() as connection:
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


def test_each_role_may_more_than_the_one_before() -> None:
    rights = [RIGHTS[role] for role in ("annotator", *ADMINISTRATORS)]
    assert all(less < more for less, more in pairwise(rights))
    assert set(ROUTES.values()) == RIGHTS["owner"]


def test_every_route_of_administrators_names_its_right() -> None:
    assert {route.path for route in router.routes if isinstance(route, APIRoute)} == set(ROUTES)

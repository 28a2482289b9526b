# SPDX-License-Identifier: Apache-2.0
"""Finished pages from both databases."""

from __future__ import annotations

from interloq.servers.replies import Reply
from interloq.web.access import people
from interloq.web.admin import collected
from interloq.web.database import Database
from interloq.web.studies.forget import withdraw_person
from interloq.web.work.answers import submit
from interloq.web.work.assign import next_item
from tests.web.admin.test_admin_routes import Client
from tests.web.chat.test_chat_export import rate, talk
from tests.web.chat.test_conversations import started
from tests.web.conftest import Served, annotators, choice_task, replies, stored_task


def test_finished_pages_people_and_the_state_they_change(study: Database) -> None:
    stored = stored_task(study, choice_task(), replies(2))
    first, second = annotators(study, stored, 2)
    with study.writing() as connection:
        before = collected.state(connection, stored.id)
        held = next_item(connection, stored, first)
        next_item(connection, stored, second)
        assert held is not None
        assert collected.state(connection, stored.id) == before
        given = [{"unit": 0, "aspect": "overall", "choice": "first"}]
        submit(connection, stored.settings, first, held.id, "submission", given, "page")
        (page,) = collected.pages(connection, stored.id)
        assert page.person == first
        assert [unit["system"] for unit in page.units] == ["secret-parrot", "secret-owl"]
        assert page.answers == (collected.Given(0, "overall", None, "ab"[held.order[0]]),)
        assert page.seconds >= 0
        assert sorted(collected.clusters(connection, stored.id).values()) == [1, 1]
        after = collected.state(connection, stored.id)
        withdraw_person(connection, second)
        assert len({before, after, collected.state(connection, stored.id)}) == 3
        assert [(one.id, one.withdrawn) for one in collected.people(connection, stored.id)] == [
            (first, False),
            (second, True),
        ]


def test_people_who_can_take_part_or_did(study: Database) -> None:
    """Invited are a person who finished a page and was revoked, one who withdrew, one at work and one not yet seen."""
    stored = stored_task(study, choice_task(), replies(2))
    ended, left, _ = annotators(study, stored, 3)
    with study.writing() as connection:
        held = next_item(connection, stored, ended)
        assert held is not None
        given = [{"unit": 0, "aspect": "overall", "choice": "tie"}]
        submit(connection, stored.settings, ended, held.id, "submission", given, "page")
        people.revoke(connection, 1)
        withdraw_person(connection, left)
        people.invite(connection, stored.id)
        assert collected.count_invited(connection, stored.id) == 3
        people.revoke(connection, 4)
        assert collected.count_invited(connection, stored.id) == 2
        people.invite(connection, stored.id, parameter="PID")
        assert collected.count_invited(connection, stored.id) is None


def test_only_the_whole_of_a_chat_is_watched(served: Served) -> None:
    stored, person, _ = started(served.database)
    rate(served.database, stored, person, talk(served.database, stored, person, Reply("one"), Reply("two")))
    with served.database.reading() as connection:
        (page,) = collected.pages(connection, stored.id)
    assert page.answers == (collected.Given(0, "overall", 5.0),)
    admin = Client(served, served.invite(None)).with_token("/admin")
    for path in ("", "/figures", "/export"):
        assert admin("GET", f"/admin/tasks/{stored.id}{path}")[0] == 200

# SPDX-License-Identifier: Apache-2.0
"""Finished pages from both databases."""

from __future__ import annotations

from interloq.servers.replies import Reply
from interloq.web.access import people
from interloq.web.admin import collected
from interloq.web.database import Database
from interloq.web.studies.forget import withdraw_person
from tests.web.chat.test_chat_export import rate, talk
from tests.web.chat.test_conversations import start_chat
from tests.web.conftest import Served, add_annotators, choice_task, finish_item, replies, store_task, submit, take_item


def test_finished_pages_people_and_the_state_they_change(study: Database) -> None:
    stored = store_task(study, choice_task(), replies(2))
    first, second = add_annotators(study, stored, 2)
    with study.reading() as connection:
        before = collected.state(connection, stored.id)
    held, _ = (take_item(study, stored, person) for person in (first, second))
    with study.reading() as connection:
        assert collected.state(connection, stored.id) == before
    submit(study, stored, first, held.id, [{"unit": 0, "aspect": "overall", "choice": "first"}])
    with study.writing() as connection:
        (page,) = collected.pages(connection, stored.id)
        assert page.person == first
        assert [unit["system"] for unit in page.units] == ["secret-parrot", "secret-owl"]
        assert page.answers == (collected.Given(0, "overall", None, "ab"[held.order[0]]),)
        assert page.seconds >= 0
        assert sorted(collected.clusters(connection, stored.id).values()) == [1, 1]
        after = collected.state(connection, stored.id)
        withdraw_person(connection, second)
        assert len({before, after, collected.state(connection, stored.id)}) == 3
        withdrawn = {person.id: person.withdrawn for person in collected.people(connection, stored.id)}
        assert withdrawn == {first: False, second: True}


def test_people_who_can_take_part_or_did(study: Database) -> None:
    """Invited are a person who finished a page and was revoked, one who withdrew, one at work and one not yet seen."""
    stored = store_task(study, choice_task(), replies(2))
    ended, left, _ = add_annotators(study, stored, 3)
    finish_item(study, stored, ended, take_item(study, stored, ended))
    with study.writing() as connection:
        people.revoke(connection, 1)
        withdraw_person(connection, left)
        people.invite(connection, stored.id)
        assert collected.count_invited(connection, stored.id) == 3
        people.revoke(connection, 4)
        assert collected.count_invited(connection, stored.id) == 2
        people.invite(connection, stored.id, parameter="PID")
        assert collected.count_invited(connection, stored.id) is None


def test_only_the_whole_of_a_chat_is_watched(served: Served) -> None:
    stored, person, _ = start_chat(served.database)
    rate(served.database, stored, person, talk(served.database, stored, person, Reply("one"), Reply("two")))
    with served.database.reading() as connection:
        (page,) = collected.pages(connection, stored.id)
    assert page.answers == (collected.Given(0, "overall", 5.0),)
    admin = served.visit(None)
    for path in ("", "/figures", "/export"):
        assert admin.get(f"/admin/tasks/{stored.id}{path}").status_code == 200

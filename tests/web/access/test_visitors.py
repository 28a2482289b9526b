# SPDX-License-Identifier: Apache-2.0
"""Roles: an administrator is not an annotator. `test_admin.py` tests the other way round on every route."""

from __future__ import annotations

import json

from sqlalchemy import select

from interloq.web.schema import person
from interloq.web.studies.forget import withdraw_person
from tests.web.admin.test_admin_routes import Client
from tests.web.conftest import Served, chat_task


def test_the_first_page_of_an_administrator_is_the_overview(served: Served) -> None:
    status, headers, _ = Client(served, served.invite(None))("GET", "/")
    assert (status, headers["location"]) == (303, "/admin")


def test_a_turn_needs_a_session_its_token_consent_and_no_withdrawal(served: Served) -> None:
    link = served.invite(served.add_chat(chat_task(consent="May we?")))
    said = {"assignment": 1, "place": 0, "text": "Hi"}

    def refused(client: Client) -> tuple[int, str]:
        status, _, body = client("POST", "/api/chat/say", said)
        return status, json.loads(body)["error"]

    assert refused(Client(served)) == (401, "no_session")
    one = Client(served, link)
    assert refused(one) == (403, "not_our_page")
    assert refused(one.with_token()) == (403, "no_consent")
    with served.database.writing() as connection:
        withdraw_person(connection, connection.execute(select(person.c.id)).scalar_one())
    assert refused(one) == (403, "withdrawn")

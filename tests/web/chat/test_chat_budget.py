# SPDX-License-Identifier: Apache-2.0
"""How often bots may be asked: per person, per task and per study, whatever people do."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select

from interloq.errors import InputError
from interloq.web.chat.chat_budget import (
    PER_TURN,
    Budget,
    check_costs,
    cost_of,
    person_limit,
    set_task_limit,
    spend,
    study_budget,
    task_budget,
    task_limit,
)
from interloq.web.chat.chat_task import NO_LIMIT, Limit
from interloq.web.database import Database
from interloq.web.schema import person
from interloq.web.studies.forget import forget_person, withdraw_person
from interloq.web.studies.tasks import Stored
from tests.web import bots
from tests.web.conftest import Annotator, People, Served, add_annotators, chat_task, likert_task, store_chat

BOT = "secret-parrot"


def add_limited(study: Database, name: str = "chat", **options: Any) -> Stored:
    """Add a chat with these options."""
    return store_chat(study, chat_task(name, options=options))


def ask(study: Database, stored: Stored, number: int, times: int, limit: Limit = NO_LIMIT) -> int:
    """Return how often a bot may be asked out of so many times."""
    allowed = 0
    for _ in range(times):
        with study.writing() as connection:
            allowed += spend(connection, stored, number, BOT, limit)
    return allowed


def test_a_person_may_ask_twice_per_turn_of_their_conversations() -> None:
    topics = {"topics": ["Travel", "Food"]}
    assert person_limit(chat_task(turns=5)) == Limit(5 * PER_TURN)
    assert person_limit(chat_task(turns=5, options=topics)).calls == 2 * 5 * PER_TURN
    assert person_limit(chat_task(turns=5, options=topics, most_items=1)).calls == 5 * PER_TURN
    assert task_limit(chat_task(turns=5, options=topics, per_item=30)).calls == 2 * 5 * 30 * PER_TURN
    chosen = {"costs": {BOT: 0.1}, "limits": {"person": {"calls": 7}, "task": {"cost": 2.5}}}
    assert person_limit(chat_task(turns=5, options=chosen)) == Limit(7)
    assert task_limit(chat_task(turns=5, options=chosen)) == Limit(3 * 5 * PER_TURN, 2.5)


def test_each_budget_ends_by_calls(study: Database) -> None:
    stored = add_limited(study, limits={"person": {"calls": 3}, "task": {"calls": 5}})
    other = add_limited(study, "other")
    first, second = add_annotators(study, stored, 2)
    (third,) = add_annotators(study, other)
    assert [ask(study, stored, number, 10) for number in (first, second)] == [3, 2]
    with study.writing() as connection:
        assert task_budget(connection, stored) == Budget(5, 0, Limit(5))
        assert not task_budget(connection, stored).allows(0)
        set_task_limit(connection, stored, 6, None)
    assert ask(study, stored, second, 10) == 1
    assert ask(study, other, third, 10, Limit(8)) == 2  # with the six calls of the other task
    with study.reading() as connection:
        assert not study_budget(connection, Limit(8)).allows(cost_of(other.settings))
        assert study_budget(connection, Limit(9)).allows(cost_of(other.settings))


def test_cost_counts_if_it_is_known(study: Database) -> None:
    limits = {"person": {"cost": 0.3}, "task": {"cost": 0.5}}
    stored = add_limited(study, costs={BOT: 0.1}, limits=limits)
    first, second = add_annotators(study, stored, 2)
    assert [ask(study, stored, number, 10) for number in (first, second)] == [3, 2]
    with study.writing() as connection:
        set_task_limit(connection, stored, 100, 10.0)
    assert ask(study, stored, second, 10, Limit(cost=0.6)) == 1
    free = add_limited(study, "free")
    (third,) = add_annotators(study, free)
    assert ask(study, free, third, 1, Limit(cost=10)) == 0  # nobody knows what it costs
    chats = [stored.settings, free.settings, likert_task()]
    with pytest.raises(InputError, match="secret-parrot"):
        check_costs(chats, Limit(cost=10))
    check_costs(chats, Limit(calls=10))


def test_a_budget_is_not_exceeded_by_people_at_once(study: Database) -> None:
    stored = add_limited(study, limits={"task": {"calls": 5}})
    workers = add_annotators(study, stored, 4)
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda number: ask(study, stored, number, 4), workers)) == 5


def test_who_withdraws_gives_nothing_back(study: Database) -> None:
    stored = add_limited(study, limits={"task": {"calls": 3}})
    first, second = add_annotators(study, stored, 2)
    assert ask(study, stored, first, 2) == 2
    with study.writing() as connection:
        withdraw_person(connection, first)
        forget_person(connection, first)
    assert ask(study, stored, second, 5) == 1


def test_the_state_changes_with_the_limit_and_in_steps() -> None:
    found = [Budget(calls, 0, Limit(100)).state for calls in range(101)]
    assert len(set(found)) == 21
    assert found[99] != found[100]
    assert Budget(0, 0, Limit(100, 1)).state != Budget(0, 0.5, Limit(100, 1)).state != Budget(0, 0, Limit(99, 1)).state
    assert not Budget(0, 0, Limit(0, math.inf)).allows(0)


def _reply(one: Annotator, number: int, place: int) -> Any:
    lines = one.post("/api/chat/reply", {"assignment": number, "place": place}).text.splitlines()
    return json.loads(lines[-1])["chat"]


def test_a_bot_that_fails_is_not_asked_without_end_by_anybody(served: Served) -> None:
    settings = chat_task(bots={BOT: bots.FAILS}, turns=2, per_item=1)  # 4 calls per person and in all
    link = served.invite(served.add_chat(settings), parameter="PID")
    bots.failed.clear()
    for name in ("ann", "bob"):
        one = served.open(f"{link}?PID={name}")
        number = one.assignment()
        found = one.post("/api/chat/say", {"assignment": number, "place": 0, "text": "Hi"}).json()
        for _ in range(6):
            found = _reply(one, number, len(found["turns"]))
        assert found["stopped"]
        assert one.post("/withdraw").json() == {"stored": True}  # the next person gets the place
    assert len(bots.failed) == 4
    with served.database.reading() as connection:
        assert list(connection.execute(select(person.c.calls).order_by(person.c.id)).scalars()) == [4, 0]


def test_a_server_with_a_limit_stops_all_chats_and_takes_none_of_unknown_cost(served: Served) -> None:
    task = served.add_chat(chat_task(options={"costs": {BOT: 0.5}}))
    served.stop()
    served.limit = Limit(cost=0.5)
    served.start()
    one, admin = served.visit(task), served.visit(None)
    number = one.assignment()
    for place, stopped in ((0, False), (2, True)):
        assert one.post("/api/chat/say", {"assignment": number, "place": place, "text": "Hi"}).status_code == 200
        assert ("stopped" in _reply(one, number, place + 1)) is stopped
    figures = admin.get(f"/admin/tasks/{task}/figures").json()
    assert "of the study is reached" in figures["warning"]
    form = {"name": "new", "kind": "chat", "bots": "old = eliza"}
    refused = admin.client.post("/admin/upload", data=form, headers=admin.headers)
    assert (refused.status_code, "cost of the bot 'old'" in refused.json()["detail"]) == (409, True)


def test_the_page_says_that_the_partner_stopped_and_a_lead_raises_the_limit(served: Served, person: People) -> None:
    options = {"limits": {"task": {"calls": 1}}}
    task = served.add_chat(chat_task(bots={"owl": "echo"}, turns=2, per_item=1, options=options))
    one, admin = person(), person()
    page = one.open(served.invite(task))
    for text, turns in (("first", 2), ("second", 1)):  # the second gets no reply
        page.keyboard.type(text)
        one.press("Enter")
        page.locator("#turns .text", has_text=text).nth(turns - 1).wait_for()
    page.get_by_text("Your partner cannot reply any more.").wait_for()
    assert page.locator("#notice button").count() == 0
    admin.page.goto(served.invite(None, role="lead"))
    admin.page.goto(f"{served.url}/admin/tasks/{task}")
    assert admin.page.locator("#h-calls").inner_text() == "1"
    admin.page.get_by_text("Bots are not asked any more").wait_for()
    admin.page.get_by_label("Calls of bots, at most").fill("2")
    admin.page.get_by_role("button", name="Set the limit").click()
    admin.page.get_by_text("The limit was changed.").wait_for()
    page.reload()
    page.locator("#turns .text", has_text="second").nth(1).wait_for()

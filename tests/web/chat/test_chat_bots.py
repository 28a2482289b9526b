"""The bots of chats."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from interloq.errors import InputError, InterloqError
from interloq.records import Turn
from interloq.web.chat.chat_bots import ChatBots, Replies, Show, check_bots
from interloq.web.database import Database
from tests.web.bots import FLAKY
from tests.web.conftest import chat_task, store_chat

HI = [Turn("Hi", "person")]


def test_a_bot_is_created_once_and_its_mistakes_are_failures() -> None:
    bots = ChatBots()
    assert bots.reply("a", "echo", HI, 0, print).text == "Hi"
    assert bots._get("a", "echo")[0] is bots._get("b", "echo")[0]
    assert bots.reply("c", "no_such_bot", HI, 0, print).failure
    assert "nothing to answer" in bots.reply("a", "echo", [], 0, print).failure
    bots.close()


def test_bots_that_do_more_than_talk_need_trust(sqlite_study: Database) -> None:
    settings, effects = chat_task(bots={"a": FLAKY}), list[str]()
    with pytest.raises(InputError, match="reach outside the program"):
        store_chat(sqlite_study, settings)
    store_chat(sqlite_study, settings, trust=effects.append)
    with pytest.raises(InputError, match="reach outside the program"):
        check_bots(sqlite_study, None, where="study.db")
    check_bots(sqlite_study, effects.append, where="study.db")
    assert len(effects) == 2
    assert "reach outside the program" in ChatBots().reply("a", FLAKY, HI, 0, print).failure
    assert ChatBots(effects.append).reply("a", FLAKY, HI, 0, print).text == "You said: Hi"


def test_a_spec_that_cannot_be_created_is_refused_when_the_task_is_added(sqlite_study: Database) -> None:
    with pytest.raises(InterloqError, match="no_such_bot"):
        store_chat(sqlite_study, chat_task(bots={"a": "no_such_bot"}))


def test_pages_that_wait_for_the_same_reply_get_all_of_it_and_ask_once() -> None:
    asked, go = list[int](), threading.Event()

    def ask(show: Show) -> dict[str, Any]:
        asked.append(1)
        show("The first")
        go.wait(10)
        show("The first and the last")
        return {"turns": 2}

    async def read(replies: Replies) -> list[dict[str, Any]]:
        return [json.loads(line) async for line in replies.lines((1, 1), ask)]

    async def main() -> list[list[dict[str, Any]]]:
        replies = Replies()
        closed = replies.lines((1, 1), ask)
        assert json.loads(await anext(closed)) == {"added": "The first"}
        await closed.aclose()  # the page is reloaded
        waiting = [asyncio.create_task(read(replies)) for _ in range(2)]
        await asyncio.sleep(0.01)
        go.set()
        found = await asyncio.gather(*waiting)
        assert not replies._coming
        return found

    for lines in asyncio.run(main()):
        assert "".join(line["added"] for line in lines[:-1]) == "The first and the last"
        assert lines[-1] == {"chat": {"turns": 2}}
    assert asked == [1]


def test_a_reply_that_could_not_be_stored_has_no_last_line() -> None:
    def ask(show: Show) -> dict[str, Any]:
        show("Lost")
        raise OSError("the disk is full")

    async def main() -> list[str]:
        return [line async for line in Replies().lines((1, 1), ask)]

    assert [json.loads(line) for line in asyncio.run(main())] == [{"added": "Lost"}]

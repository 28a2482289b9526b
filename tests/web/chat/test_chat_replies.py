# SPDX-License-Identifier: Apache-2.0
"""Replies in progress, which several pages may wait for."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

from interloq.web.chat.chat_replies import Replies, Show


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

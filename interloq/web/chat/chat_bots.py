# SPDX-License-Identifier: Apache-2.0
"""The bots of chats and their replies in progress.

Bots are created once and asked by one person at a time unless they wait for a server. A study may come from anyone: a
bot that does more than talk is used only if the study is trusted (see trust.py).

Each reply is asked for once, and every page that waits for it gets its text as it arrives. The bot talks in its own
thread, which stores the complete reply at the end. It does not stop when a page is closed, so a page that is reloaded
meanwhile gets the text so far and then the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from anyio import CapacityLimiter, to_thread

from interloq.errors import InterloqError
from interloq.play.bot import Bot, stream_reply
from interloq.play.endings import BY_BOT
from interloq.records import Turn
from interloq.servers.replies import Reply, one_line
from interloq.trust import Trust, create_from_file
from interloq.web.chat.chat_task import chat_options
from interloq.web.database import Database
from interloq.web.studies.questions import StudyTask
from interloq.web.studies.tasks import all_tasks

Show = Callable[[str], None]  # called with the text so far
AT_ONCE = 64  # bots that are waited for; they have threads of their own, so that they never hold up other pages
PAUSE = 0.05  # seconds between two parts sent to a page


class ChatBots:
    """The bots that are in use, by spec."""

    def __init__(self, trust: Trust = None) -> None:
        self.trust = trust
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Bot, Any]] = {}

    def reply(self, name: str, spec: str, turns: Sequence[Turn], seed: int, show: Show) -> Reply:
        """Return the bot's next reply; any error becomes its failure. Bots that stream show the text so far."""
        try:
            bot, lock = self._get(name, spec)
            with lock:
                reply = stream_reply(bot, turns, seed, show)
            if reply.text or reply.failure:
                return reply
            return Reply("", BY_BOT)  # only people end chats
        except InterloqError as error:
            return Reply("", one_line(str(error)))

    def _get(self, name: str, spec: str) -> tuple[Bot, Any]:
        with self._lock:
            if spec not in self._known:
                bot = create_from_file({name: spec}, kind="bot", where="the study", trust=self.trust)[name]
                lock = contextlib.nullcontext() if bot.waits else threading.Lock()
                self._known[spec] = bot, lock
            return self._known[spec]

    def close(self) -> None:
        """End everything the bots started."""
        for bot, _ in self._known.values():
            bot.close()
        self._known.clear()


def check_chat(task: StudyTask, trust: Trust, *, where: str) -> None:
    """Refuse a chat with unsuitable options, or with bots that cannot be created or need trust."""
    create_from_file(chat_options(task).bots, kind="bot", where=where, trust=trust)


def check_bots(database: Database, trust: Trust, *, where: str) -> None:
    """Check all chats of a study; see `check_chat`."""
    with database.reading() as connection:
        chats = [stored.settings for stored in all_tasks(connection) if stored.settings.kind == "chat"]
    for settings in chats:
        check_chat(settings, trust, where=where)


@dataclass
class _Coming:
    """A reply in progress."""

    text: str = ""
    task: asyncio.Task[dict[str, Any]] = field(init=False)

    def show(self, text: str) -> None:
        """Keep the text that has arrived so far; called by the bot's thread."""
        self.text = text


class Replies:
    """All replies in progress, by conversation and place."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(AT_ONCE)
        self._coming: dict[tuple[int, int], _Coming] = {}

    async def lines(self, key: tuple[int, int], ask: Callable[[Show], dict[str, Any]]) -> AsyncGenerator[str]:
        """Yield lines of JSON: {"added": text} for parts of the reply, then {"chat": what `ask` returned}.

        `ask` gets the reply and stores it; it is not called if this reply is already in progress. If `ask` fails, the
        last line is missing.
        """
        coming, sent = self._coming.get(key) or self._start(key, ask), 0
        while not coming.task.done():
            await asyncio.wait({coming.task}, timeout=PAUSE)
            if len(text := coming.text) > sent:
                yield _line("added", text[sent:])
                sent = len(text)
        if coming.task.exception() is None:
            yield _line("chat", coming.task.result())

    def _start(self, key: tuple[int, int], ask: Callable[[Show], dict[str, Any]]) -> _Coming:
        coming = self._coming[key] = _Coming()
        work = to_thread.run_sync(partial(ask, coming.show), limiter=self._limiter, abandon_on_cancel=True)
        coming.task = asyncio.ensure_future(work)
        coming.task.add_done_callback(partial(self._forget, key))
        return coming

    def _forget(self, key: tuple[int, int], _: object) -> None:
        del self._coming[key]


def _line(name: str, value: Any) -> str:
    return json.dumps({name: value}) + "\n"

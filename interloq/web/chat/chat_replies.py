# SPDX-License-Identifier: Apache-2.0
"""Replies in progress: each is asked for once, and every page that waits for it gets its text as it arrives.

The bot talks in a thread of its own, which stores the whole reply at the end. It does not stop when a page is closed,
so a page that is reloaded meanwhile gets the text so far and then the rest.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from anyio import CapacityLimiter, to_thread

Show = Callable[[str], None]  # called with the text so far
AT_ONCE = 64  # bots that are waited for; they have threads of their own, so that they never hold up other pages
PAUSE = 0.05  # seconds between two parts sent to a page


@dataclass
class _Coming:
    """A reply in progress."""

    text: str = ""
    task: asyncio.Task[dict[str, Any]] = field(init=False)

    def show(self, text: str) -> None:
        """Called by the bot's thread."""
        self.text = text


class Replies:
    """All replies in progress, by conversation and place."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(AT_ONCE)
        self._coming: dict[tuple[int, int], _Coming] = {}

    async def lines(self, key: tuple[int, int], ask: Callable[[Show], dict[str, Any]]) -> AsyncGenerator[str]:
        """Lines of JSON: {"added": text} for parts of the reply, then {"chat": what `ask` returned}.

        `ask` gets the reply and stores it; if this reply is in progress already, it is not called. If it fails, the
        last line is missing.
        """
        coming, sent = self._coming.get(key) or self._started(key, ask), 0
        while not coming.task.done():
            await asyncio.wait({coming.task}, timeout=PAUSE)
            if len(text := coming.text) > sent:
                yield _line("added", text[sent:])
                sent = len(text)
        if coming.task.exception() is None:
            yield _line("chat", coming.task.result())

    def _started(self, key: tuple[int, int], ask: Callable[[Show], dict[str, Any]]) -> _Coming:
        coming = self._coming[key] = _Coming()
        work = to_thread.run_sync(partial(ask, coming.show), limiter=self._limiter, abandon_on_cancel=True)
        coming.task = asyncio.ensure_future(work)
        coming.task.add_done_callback(partial(self._ended, key))
        return coming

    def _ended(self, key: tuple[int, int], _: object) -> None:
        del self._coming[key]


def _line(name: str, value: Any) -> str:
    return json.dumps({name: value}) + "\n"

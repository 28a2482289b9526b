# SPDX-License-Identifier: Apache-2.0
"""Which of several chat servers answers a request: the one that has read the beginning of its prompt before, if it can.

Servers such as vLLM and SGLang keep what they computed for the beginning of a prompt. So requests with the same system
prompt and first turn (one conversation from turn to turn, or several answers to one prompt) wait for the same server;
their hash chooses it, so that a further server takes over only its share of them. A server with nothing of its own to
do takes requests that wait for another. One that fails is skipped while another works: its requests go to the others
at once, and a single request tries it again later.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

PATIENCE = 10  # a server that failed rests this many times as long as the failure took: it costs a tenth of the time


@dataclass(eq=False)
class ChatServer:
    """A server and how it has been doing; `url` is the `address` that the user gave, with the whole path."""

    address: str
    url: str
    local: bool
    free_at: float = 0.0  # when the next request may be sent
    failures: int = 0  # since its last answer
    rests_until: float = 0.0

    def report_failure(self, seconds: float, pause: float) -> None:
        """Let it rest; requests that were on their way when it began to fail do not prolong this."""
        now = time.monotonic()
        if now >= self.rests_until:
            self.failures += 1
            self.rests_until = now + max(pause, PATIENCE * seconds)


@dataclass(eq=False)
class ChatRequest:
    """A request, the servers in the order in which it prefers them, and its outcome."""

    body: Mapping[str, Any]
    order: Sequence[ChatServer]
    tried: set[ChatServer] = field(default_factory=set)  # since its last pause
    pauses: int = 0
    attempts: int = 0
    outcome: Any = None


def order_servers(servers: Sequence[ChatServer], body: Mapping[str, Any]) -> list[ChatServer]:
    """Return the servers in the order in which a request prefers them."""
    if len(servers) == 1:
        return list(servers)
    beginning = []
    for message in body["messages"]:
        beginning.append(message)
        if message["role"] != "system":
            break
    prompt = json.dumps(beginning).encode()
    return sorted(servers, key=lambda server: blake2b(prompt + server.address.encode(), digest_size=8).digest())


class Dispatcher:
    """Requests that wait for servers, of one call in one event loop."""

    def __init__(self, servers: Sequence[ChatServer], requests: Sequence[ChatRequest]) -> None:
        self.servers, self.unfinished = servers, len(requests)
        self._queues = {server: deque[ChatRequest]() for server in servers}
        self._changed = asyncio.Event()
        for request in requests:
            self.put(request)

    def put(self, request: ChatRequest) -> None:
        """Let a request wait for the server that it prefers among those that work."""
        working = [server for server in request.order if not server.failures]
        self._queues[(working or request.order)[0]].append(request)
        self.wake()

    def move(self, request: ChatRequest) -> bool:
        """Give a request that failed to another server that works; return False if all of them have tried it."""
        for server in request.order:
            if not server.failures and server not in request.tried:
                self._queues[server].appendleft(request)
                self.wake()
                return True
        return False

    def finish(self, request: ChatRequest, outcome: object) -> None:
        request.outcome = outcome
        self.unfinished -= 1
        if not self.unfinished:
            self.wake()

    def wake(self) -> None:
        """Let those that wait in `take` look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def take(self, server: ChatServer, *, probes: bool) -> ChatRequest | None:
        """Return the next request for a server, or None when all requests have an outcome.

        Of the callers for one server, one `probes` whether a server that failed works again.
        """
        while self.unfinished:
            rest = self._rest(server, probes)
            if not rest:
                if self._queues[server]:
                    return self._queues[server].popleft()
                await asyncio.sleep(0)  # until the others have looked for requests of their own
                if request := self._take_from_any(server):
                    return request
            changed = self._changed
            if self.unfinished:
                with suppress(TimeoutError):
                    async with asyncio.timeout(rest or None):
                        await changed.wait()
        return None

    def _rest(self, server: ChatServer, probes: bool) -> float:
        """Return for how many seconds a server gets no request."""
        if not server.failures or all(other.failures for other in self.servers):
            return 0.0
        return max(0.0, server.rests_until - time.monotonic()) if probes else math.inf

    def _take_from_any(self, server: ChatServer) -> ChatRequest | None:
        for other in sorted(self.servers, key=lambda other: -len(self._queues[other])):
            queue = self._queues[other]
            if queue and (other.failures or server not in queue[0].tried):
                return queue.popleft()
        return None

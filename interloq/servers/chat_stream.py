# SPDX-License-Identifier: Apache-2.0
"""Answers of a chat server that arrive in parts, as server-sent events (`"stream": true`).

Each event is `data: {"choices": [{"delta": {"content": "…"}}]}`; the last one is `data: [DONE]` or has a
`finish_reason`. A stream that ends without either broke off. A server that does not stream answers as usual.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

from interloq.servers.chat_server import ChatConnection, RequestFailed, check_text, read_body, read_text, reply_of
from interloq.servers.replies import Reply, without_reasoning

LARGEST = 8 << 20  # most bytes read of a stream: each token is wrapped in a few hundred
EVENTS = "text/event-stream"
DONE = b"[DONE]"


async def stream_reply(connection: ChatConnection, body: dict[str, Any], show: Callable[[str], None]) -> Reply:
    """Reply to one request; `show` is called with the text so far. Nothing is retried after the first text."""
    stream = _Stream(show)
    return reply_of(await connection.receive({**body, "stream": True}, stream.read, lambda: not stream.text))


class _Stream:
    """Collects the text of the events of one answer."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self.show, self.text, self.refusal, self.ended, self.finish_reason = show, "", "", False, ""

    async def read(self, answer: httpx.Response) -> str:
        if not answer.headers.get("content-type", "").startswith(EVENTS):
            return read_text(await read_body(answer))
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise RequestFailed("the stream is encoded, which was not requested", retry=False)
        self.refusal, self.ended = "", False
        rest, size = b"", 0
        async for part in answer.aiter_raw():
            *lines, rest = (rest + part).split(b"\n")
            size += len(part)
            if size > LARGEST:
                raise RequestFailed(f"the answer is larger than {LARGEST >> 20} MiB", retry=False)
            for line in lines:
                self._line(line)
        self._line(rest)
        if not self.ended:
            raise RequestFailed("the stream ended early", retry=True)
        if self.refusal and not self.text:
            raise RequestFailed(f"refused: {self.refusal}", retry=False, works=True)
        return check_text(self.text, self.finish_reason)

    def _line(self, line: bytes) -> None:
        name, _, data = line.partition(b":")
        if name != b"data" or self.ended:
            return  # a comment, or a field that says nothing
        if data.strip() == DONE:
            self.ended = True
            return
        try:
            self._event(json.loads(data))
        except (ValueError, RecursionError):
            raise RequestFailed("an event of the stream is not valid JSON", retry=True) from None

    def _event(self, value: object) -> None:
        match value:
            case {"error": error}:
                message = error.get("message", "no message") if isinstance(error, dict) else error
                raise RequestFailed(f"the server stopped: {message}", retry=True, works=True)
            case {"choices": [{"delta": {"content": str(part)}}, *_]} if part:
                self.text += part
                if shown := without_reasoning(self.text):
                    self.show(shown)
            case {"choices": [{"delta": {"refusal": str(part)}}, *_]}:
                self.refusal += part
        match value:
            case {"choices": [{"finish_reason": str(reason)}, *_]}:
                self.ended, self.finish_reason = True, reason

# SPDX-License-Identifier: Apache-2.0
"""Streams that break, against a real server on this machine."""

from __future__ import annotations

import asyncio

import pytest

from interloq.servers.chat_server import ChatConnection
from interloq.servers.chat_stream import stream_reply
from interloq.servers.replies import Reply
from tests.made_chat_server import KEY, Server, serving


@pytest.mark.parametrize(
    ("word", "shown", "failure", "attempts"),
    [
        ("broken", "half a", "broke off: the stream ended early", 1),
        ("stopped", "half a", "broke off: the server stopped: out of memory, sorry", 1),
        ("garbled", "", "an event of the stream is not valid JSON (2 attempts)", 2),
        ("refusing", "", "refused: I will not", 1),
        ("401", "", "HTTP 401: wrong key ***, or ***", 1),
        ("waiting", "The first part", "broke off: timed out after 1 s", 1),
    ],
)
def test_a_stream_that_breaks_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, word: str, shown: str, failure: str, attempts: int
) -> None:
    monkeypatch.setattr("interloq.servers.chat_server.FIRST_PAUSE", 0.01)
    texts = [""]
    with serving(Server()) as server:
        url = f"{server.url}/chat/completions"
        connection = ChatConnection(url, secret=KEY, local=True, concurrency=1, timeout=1.0, retries=1, rate=0.0)
        body = {"messages": [{"role": "user", "content": word}]}
        assert asyncio.run(stream_reply(connection, body, texts.append)) == Reply("", failure)
        assert server.asked[word] == attempts
    assert texts[-1] == shown

"""Fixtures that several files of this folder use, and those of tests/play."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.made_chat_server import Server, serving


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("interloq.servers.chat_server.FIRST_PAUSE", 0.02)
    with serving(Server()) as made:
        yield made

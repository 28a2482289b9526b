"""Bots for tests of chats."""

from __future__ import annotations

from collections.abc import Sequence

from interloq.records import Turn

FAILING = "Please fail once"
FLAKY = "function(path='tests.web.bots:flaky')"
asked: list[str] = []


def flaky(turns: Sequence[Turn], seed: int) -> str:
    """Repeats the last turn; a turn that asks for it fails at the first attempt."""
    text = turns[-1].text
    asked.append(text)
    if text.startswith(FAILING) and asked.count(text) == 1:
        raise RuntimeError("secret-owl is asleep")
    return f"You said: {text}"


FAILS = "function(path='tests.web.bots:fails')"
failed: list[str] = []


def fails(turns: Sequence[Turn], seed: int) -> str:
    """Never replies."""
    failed.append(turns[-1].text)
    raise RuntimeError("out of order")

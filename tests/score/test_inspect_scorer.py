"""The scorer for tasks of Inspect, with a double of its interface; `check_inspect.py` runs it in Inspect itself."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from interloq import SpecError
from interloq.score.inspect_scorer import NO_REPLY, inspect_scorer


class Message:
    def __init__(self, role: str, content: str) -> None:
        self.values = {"role": role, "content": content}

    def model_dump(self) -> dict[str, str]:
        return self.values


async def run_sync(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names under which scorers were registered with the double."""
    registered: list[str] = []

    def scorer(*, metrics: list[str], name: str) -> Callable[[Any], Any]:
        assert metrics == ["mean", "stderr"]
        registered.append(name)
        return lambda make: make

    double = SimpleNamespace(scorer=scorer, mean=lambda: "mean", stderr=lambda: "stderr", Score=SimpleNamespace)
    inspect, anyio = ModuleType("inspect_ai"), ModuleType("anyio")
    inspect.scorer, anyio.to_thread = double, SimpleNamespace(run_sync=run_sync)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "inspect_ai", inspect)
    monkeypatch.setitem(sys.modules, "anyio", anyio)
    return registered


def score(scorer: Any, *messages: Message, target: list[str]) -> Any:
    state = SimpleNamespace(messages=messages, output=SimpleNamespace(completion=messages[-1].values["content"]))
    return asyncio.run(scorer(state, target))


ASKED = (Message("system", "Be kind."), Message("user", "Where is it?"))


def test_a_reply_is_scored_with_its_target(names: list[str]) -> None:
    length, bleu = inspect_scorer("length", "bleu(order=1)")
    assert names == ["length", "bleu(order=1)"]
    reply = Message("assistant", "It is here .")
    assert score(length, *ASKED, reply, target=["It is here ."]).value == 4
    assert score(bleu, *ASKED, reply, target=["It is here ."]).value == pytest.approx(1.0)
    unscored = score(bleu, *ASKED, reply, target=[""])
    assert math.isnan(unscored.value)
    assert unscored.explanation == "no references"


def test_without_a_reply_there_is_no_score(names: list[str]) -> None:
    unscored = score(inspect_scorer("length"), *ASKED, target=["x"])
    assert math.isnan(unscored.value)
    assert unscored.explanation == NO_REPLY
    assert names == ["length"]


def test_metrics_of_whole_sets_are_refused(names: list[str]) -> None:
    with pytest.raises(SpecError, match="compares all replies of a set"):
        inspect_scorer("distinct")
    with pytest.raises(SpecError, match="needs a metric"):
        inspect_scorer()
    assert names == []


def test_without_inspect_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(SpecError, match="pip install inspect_ai"):
        inspect_scorer("length")

"""Requests of a judge: each is sent once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError
from interloq.play.bots.endpoint import Endpoint
from tests.made_chat_server import serving
from tests.made_judge_server import JudgeServer as Double

pytest.importorskip("httpx")


@pytest.fixture
def double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Double]:
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path))
    with serving(Double()) as made:
        yield made


def made(double: Double) -> Any:
    from interloq.metrics.llm_judge.judge_server import JudgeServer

    return JudgeServer(Endpoint(double.url, "small", key="", retries=0), None)


def body(reply: str) -> dict[str, Any]:
    content = f'{{"reply": "{reply}"}}'
    return {"messages": [{"role": "user", "content": content}], "seed": 0, "max_tokens": 1, "top_logprobs": 20}


def test_equal_requests_are_sent_once_and_failures_again(double: Double) -> None:
    server = made(double)
    bodies = [body(text) for text in ("a", "b", "a", "500")]
    first = server.answers(bodies, lambda _: "", attempts=1)
    assert [isinstance(answer, str) for answer in first] == [False, False, False, True]
    assert len(double.seen) == 3
    assert server.known_answers(bodies) == first == server.answers(bodies, lambda _: "", attempts=1)
    assert len(double.seen) == 4


def test_answers_survive(double: Double) -> None:
    first = made(double).answers([body("a")], lambda _: "", attempts=1)
    assert made(double).answers([body("a")], lambda _: "", attempts=1) == first
    assert len(double.seen) == 1
    refused = made(double).answers([body("a")], lambda _: "no", attempts=2)  # also an answer from the cache
    assert refused == ["no (2 attempts)"]


def test_a_key_that_is_not_set(double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    from interloq.metrics.llm_judge.judge_server import JudgeServer

    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(InputError, match="the environment variable NO_SUCH_KEY is not set"):
        JudgeServer(Endpoint(double.url, "small", key="NO_SUCH_KEY"), None)

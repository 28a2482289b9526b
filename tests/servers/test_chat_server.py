"""Addresses and keys of chat servers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interloq import InputError
from interloq.play.bots.endpoint import Endpoint

pytest.importorskip("httpx")


KEY = "sk-abcdefghijklmnop0123456789"


def test_a_key_in_place_of_its_name_is_not_repeated() -> None:
    with pytest.raises(InputError, match="name of an environment variable") as caught:
        Endpoint("http://localhost/v1", "m", key=KEY)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("key", ["hid den", "hidden\u00fc", "hidden\nX-Other: y"])
def test_a_key_that_cannot_be_sent(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(InputError, match="the key in OPENAI_API_KEY contains characters") as caught:
        Endpoint("https://host/v1", "m").signature()
    assert "hid" not in str(caught.value)


@pytest.mark.parametrize(
    ("choice", "candidates"),
    [
        ({}, None),
        ({"logprobs": None}, None),
        ({"logprobs": {"content": []}}, None),
        ({"logprobs": {"content": [{"token": "4"}]}}, None),
        ({"logprobs": {"content": [{"top_logprobs": []}]}}, ()),
        (
            {"logprobs": {"content": [{"top_logprobs": [{"token": "4", "logprob": -1}, {"token": 5}, 7]}]}},
            (("4", -1.0),),
        ),
    ],
)
def test_candidates_of_an_answer(choice: dict[str, Any], candidates: Any) -> None:
    from interloq.servers.chat_server import ChatAnswer, read_answer

    value = {
        "choices": [{"message": {"content": "4"}, **choice}],
        "usage": {"prompt_tokens": 3, "completion_tokens": -1},
    }
    assert read_answer(json.dumps(value).encode()) == ChatAnswer("4", candidates, 3, 0)
    assert read_answer(json.dumps({**value, "usage": [1]}).encode()) == ChatAnswer("4", candidates)


@pytest.mark.parametrize(
    "url", ["https://user:hidden@host/v1", "https://host/v1?api_key=hidden", "https://host/v1?x=1&Token=hidden"]
)
def test_no_key_in_an_address(url: str) -> None:
    with pytest.raises(InputError, match="must not contain a password or key") as caught:
        Endpoint(url, "m")
    assert "hidden" not in str(caught.value)


def test_no_key_without_encryption(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(InputError, match="sent unencrypted"):
        Endpoint("http://elsewhere.example/v1", "m").signature()
    assert Endpoint("http://elsewhere.example/v1", "m", key="").signature()


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://host/v1", "http://", "http://host:port/v1", "http://[::1/v1"]
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(InputError, match="url must be an address"):
        Endpoint(url, "m")

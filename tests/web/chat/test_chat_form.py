# SPDX-License-Identifier: Apache-2.0
"""Chats from the form of the administrators' page."""

from __future__ import annotations

import pytest

from interloq.errors import InputError
from interloq.web.chat.chat_form import check_local, with_chat_fields
from tests.web.conftest import chat_task

FIELDS = {"bots": "old = eliza\n\n parrot=echo \n", "topics": "Travel\nFood", "turns": "7", "guess": "yes"}


def test_fields_take_precedence_over_settings() -> None:
    found = with_chat_fields(chat_task(options={"topics": ["Music"], "replies": []}), FIELDS)
    assert found.options == {
        "bots": {"old": "eliza", "parrot": "echo"}, "topics": ["Travel", "Food"], "replies": [], "guess": True,
    }  # fmt: skip
    assert found.turns == 7
    assert with_chat_fields(found, {"bots": " ", "turns": ""}) == found


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [("bots", "eliza", "not a bot"), ("bots", "a = echo\na = eliza", "same name"), ("turns", "many", "whole number")],
)
def test_bad_fields_say_why(field: str, value: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_chat_fields(chat_task(), {field: value})


@pytest.mark.parametrize(
    "spec", ["process(command='ls')", "retrieval(index='/etc')", "endpoint(url='http://x/v1',model='m')"]
)
def test_bots_that_name_something_need_trust(spec: str) -> None:
    check_local({"a": "eliza", "b": "echo"})
    with pytest.raises(InputError, match="'c' names a file, a program or a server: an owner can check the box"):
        check_local({"a": "eliza", "c": spec})

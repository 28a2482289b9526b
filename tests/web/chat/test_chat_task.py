"""Options of chats, their items and questions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from interloq.errors import InputError
from interloq.web.chat.chat_task import WHOLE, chat_items, chat_options, questions_after
from interloq.web.studies.questions import GUESSED_HUMAN
from tests.web.conftest import chat_task

BOTS = {"secret-parrot": "echo", "secret-owl": "eliza"}


def test_every_bot_is_talked_to_about_every_topic_without_being_named() -> None:
    items = chat_items(chat_task(bots=BOTS, options={"topics": ["Travel", "Food"]}))
    assert len({item.answer_key for item in items}) == len(items) == 4
    assert [item.shown["topic"] for item in items] == ["Travel", "Travel", "Food", "Food"]
    assert "secret" not in str([item.shown for item in items])
    assert {item.hidden["units"][0]["system"] for item in items} == set(BOTS)


def test_replies_are_asked_about_before_the_whole() -> None:
    found = questions_after(chat_task(options={"replies": [{"aspect": "fit"}], "guess": True}), [1, 3])
    assert [(unit, question.aspect) for unit, question in found] == [
        (1, "fit"), (3, "fit"), (WHOLE, "overall"), (WHOLE, GUESSED_HUMAN),
    ]  # fmt: skip
    assert found[-1][1].labels == ("A bot", "A person")
    assert [question.aspect for _, question in questions_after(chat_task(), [1])] == ["overall", "overall"]
    assert [unit for unit, _ in questions_after(chat_task(options={"replies": []}), [1])] == [WHOLE]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs bots"),
        ({"bots": {"a": 1}}, "needs bots"),
        ({"bots": {"a;b": "echo"}}, "a;b"),
        ({"bots": BOTS, "topic": []}, "no option 'topic'"),
        ({"bots": BOTS, "topics": "Travel"}, "list of texts"),
        ({"bots": BOTS, "topics": ["a", "a"]}, "topics are the same"),
        ({"bots": BOTS, "topics": ["a" * 3000]}, "characters"),
        ({"bots": BOTS, "first": 1}, "first must be a text"),
        ({"bots": BOTS, "first": " Hi!"}, "without white space around it"),
        ({"bots": BOTS, "guess": 1}, "true or false"),
        ({"bots": BOTS, "which_bot": {"secret-owl": "x", "crow": "y"}}, "must describe each bot, secret-parrot"),
        ({"bots": BOTS, "costs": {"crow": 1}}, "does not have: 'crow'"),
        ({"bots": BOTS, "costs": {"secret-owl": -1}}, "at least 0"),
        ({"bots": BOTS, "limits": {"study": {"calls": 1}}}, "person or task"),
        ({"bots": BOTS, "limits": {"task": {}}}, "calls or cost"),
        ({"bots": BOTS, "limits": {"task": {"calls": "many"}}}, "calls or cost"),
        ({"bots": BOTS, "costs": {"secret-owl": 1}, "limits": {"task": {"cost": 1}}}, "costs of all bots"),
        ({"bots": BOTS, "replies": [{"control": "choice"}]}, "likert scale"),
        ({"bots": BOTS, "replies": [{"aspect": "a"}, {"aspect": "a"}]}, "same aspect"),
    ],
)
def test_unsuitable_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        chat_options(replace(chat_task(), options=options))

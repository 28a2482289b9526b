"""Conversations as they are stored."""

from __future__ import annotations

from typing import Any

import pytest

from interloq.errors import InputError
from interloq.records import Turn
from interloq.servers.replies import Reply
from interloq.web.chat import conversations as chat
from interloq.web.database import Database
from interloq.web.studies.tasks import Stored
from interloq.web.work import assign
from tests.web.conftest import add_annotators, chat_task, store_chat, take_item


def start_chat(study: Database, **settings: Any) -> tuple[Stored, int, int]:
    """Return a task of kind chat, a person, and their conversation."""
    stored = store_chat(study, chat_task(**settings))
    (person,) = add_annotators(study, stored)
    return stored, person, take_item(study, stored, person).id


def test_each_turn_is_stored_once_at_its_place(study: Database) -> None:
    stored, person, number = start_chat(study)
    own = (stored.settings, person, number)
    with study.writing() as connection:
        first = chat.say(connection, *own, 0, " Hi!\0 ")
        assert chat.say(connection, *own, 0, "Hi!") == first  # sent again
        assert first.waits
        for place, text in ((0, "another tab"), (1, "no reply yet"), (7, "too far")):
            with pytest.raises(InputError, match="continued elsewhere"):
                chat.say(connection, *own, place, text)
        chat.store_reply(connection, *own, 1, Reply("", "timed out"))
        failed = chat.store_reply(connection, *own, 1, Reply("late"))  # asked twice, and the failure came first
        assert failed.waits
        answered = chat.store_reply(connection, *own, 2, Reply("Hello."))
        assert chat.store_reply(connection, *own, 3, Reply("again")) == answered
    assert answered.turns() == [Turn("Hi!", "person"), Turn("Hello.", "bot")]
    assert [line.failure for line in answered.lines] == ["", "timed out", ""]
    assert answered.reply_places == [2]
    assert "timed out" not in str(answered.show())


def test_a_conversation_ends_at_its_limit_or_earlier(study: Database) -> None:
    stored, person, number = start_chat(study, turns=1)
    own = (stored.settings, person, number)
    with study.writing() as connection:
        with pytest.raises(InputError, match="nothing was said"):
            chat.end(connection, *own)
        assert not chat.say(connection, *own, 0, "Hi").ended  # the reply is still due
        with pytest.raises(InputError, match="not ended"):
            chat.reply_places(connection, *own)
        assert chat.store_reply(connection, *own, 1, Reply("Hello")).ended
        assert chat.reply_places(connection, *own) == [1]
        assert not chat.end(connection, *own).ended_by_person


def test_a_bot_that_never_replies_leaves_nothing_to_rate(study: Database) -> None:
    stored, person, number = start_chat(study)
    own = (stored.settings, person, number)
    with study.writing() as connection:
        chat.say(connection, *own, 0, "Hi")
        chat.store_reply(connection, *own, 1, Reply("", "timed out"))
        assert chat.end(connection, *own).finished
        assert chat.store_reply(connection, *own, 2, Reply("late")).reply_places == []
        assert assign.next_item(connection, stored, person) is None


def test_only_the_own_conversation_can_be_read(study: Database) -> None:
    stored, _, number = start_chat(study)
    (other,) = add_annotators(study, stored)
    with study.reading() as connection, pytest.raises(InputError, match="belongs to somebody else"):
        chat.get_chat(connection, stored.settings, other, number)


def test_a_person_who_comes_back_to_an_old_tab_has_the_item_again(study: Database) -> None:
    stored, person, number = start_chat(study)
    with study.writing() as connection:
        assign.return_abandoned(connection, stored, 1e12)
        assert chat.get_chat(connection, stored.settings, person, number).returned
        assert not chat.say(connection, stored.settings, person, number, 0, "Hi").returned
    assert take_item(study, stored, person).id == number


def test_a_given_first_message_must_come_first(study: Database) -> None:
    stored, person, number = start_chat(study, options={"first": "Hi!"})
    own = (stored.settings, person, number)
    with study.writing() as connection:
        with pytest.raises(InputError, match=r"starts with 'Hi!'"):
            chat.say(connection, *own, 0, "Hello there")
        assert chat.say(connection, *own, 0, "Hi!").waits
        chat.store_reply(connection, *own, 1, Reply("Hello."))
        assert chat.say(connection, *own, 2, "How are you?").left == stored.settings.turns - 2

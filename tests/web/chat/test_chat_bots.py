"""The bots of chats."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.errors import InputError, InterloqError
from interloq.records import Turn
from interloq.web.chat.chat_bots import ChatBots, add_chat, check_bots
from interloq.web.database import open_database
from tests.web.bots import FLAKY
from tests.web.conftest import chat_task

HI = [Turn("Hi", "person")]


def test_a_bot_is_created_once_and_its_mistakes_are_failures() -> None:
    bots = ChatBots()
    assert bots.reply("a", "echo", HI, 0, print).text == "Hi"
    assert bots._get("a", "echo")[0] is bots._get("b", "echo")[0]
    assert bots.reply("c", "no_such_bot", HI, 0, print).failure
    assert "nothing to answer" in bots.reply("a", "echo", [], 0, print).failure
    bots.close()


def test_bots_that_do_more_than_talk_need_trust(tmp_path: Path) -> None:
    settings, effects = chat_task(bots={"a": FLAKY}), list[str]()
    study = open_database(tmp_path / "study.db")
    with study.writing() as connection:
        with pytest.raises(InputError, match="reach outside the program"):
            add_chat(connection, settings)
        add_chat(connection, settings, trust=effects.append)
    with pytest.raises(InputError, match="reach outside the program"):
        check_bots(study, None, where="study.db")
    check_bots(study, effects.append, where="study.db")
    study.close()
    assert len(effects) == 2
    assert "reach outside the program" in ChatBots().reply("a", FLAKY, HI, 0, print).failure
    assert ChatBots(effects.append).reply("a", FLAKY, HI, 0, print).text == "You said: Hi"


def test_a_spec_that_cannot_be_created_is_refused_when_the_task_is_added(tmp_path: Path) -> None:
    study = open_database(tmp_path / "study.db")
    with study.writing() as connection, pytest.raises(InterloqError, match="no_such_bot"):
        add_chat(connection, chat_task(bots={"a": "no_such_bot"}))
    study.close()

# SPDX-License-Identifier: Apache-2.0
"""From chat to outsiders: blind, and with the gap between both."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import load
from interloq.errors import InputError
from interloq.records import INTERLOCUTOR, OUTSIDER
from interloq.servers.replies import Reply
from interloq.web.admin.monitor import chatter_gap
from interloq.web.chat.outsiders import send_to_outsiders
from interloq.web.database import Database
from interloq.web.exchange.export import export_task
from interloq.web.studies.tasks import get_task
from interloq.web.work import assign, collected
from interloq.web.work.answers import submit
from tests.web.chat.test_chat_export import NAMES, rate, talk
from tests.web.chat.test_conversations import started
from tests.web.conftest import annotators


def test_outsiders_rate_conversations_and_the_gap_is_known(study: Database) -> None:
    stored, chatter, _ = started(study)
    with study.writing() as connection, pytest.raises(InputError, match="no conversation is over yet"):
        send_to_outsiders(connection, stored, NAMES)
    rate(study, stored, chatter, talk(study, stored, chatter, Reply("one")))
    with study.writing() as connection:
        task = get_task(connection, send_to_outsiders(connection, stored, NAMES))
        (own,) = collected.pages(connection, stored.id)
        assert own.cluster not in collected.clusters(connection, stored.id)  # a conversation is an item of its own
    (outsider,) = annotators(study, task)
    with study.writing() as connection:
        page = assign.next_item(connection, task, outsider)
        assert page is not None
        assert "secret" not in str(page.shown)
        given = [{"unit": 0, "aspect": "overall", "value": 2}]
        submit(connection, task.settings, outsider, page.id, "submission", given, "page")
        gap = chatter_gap(collected.pages(connection, task.id), "overall")
    assert {name: one.value for name, one in gap.items()} == {"secret-parrot": 3}  # the chatter gave 5


def test_outsiders_who_guess_do_not_see_who_is_a_bot(study: Database, tmp_path: Path) -> None:
    options = {"guess": True, "which_bot": {"secret-owl": "The wise one", "secret-parrot": "The chatty one"}}
    bots = {"secret-parrot": "echo", "secret-owl": "eliza"}
    stored, chatter, _ = started(study, bots=bots, options={**options, "replies": []})
    rate(study, stored, chatter, talk(study, stored, chatter, Reply("one")), guessed_human=1, guessed_partner=2)
    with study.writing() as connection:
        task = get_task(connection, send_to_outsiders(connection, stored, NAMES))
    (outsider,) = annotators(study, task)
    with study.writing() as connection:
        page = assign.next_item(connection, task, outsider)
        assert page is not None
        assert {key for turn in page.shown["units"][0]["turns"] for key in turn} == {"speaker", "text"}
        values = {"overall": 2, "guessed_human_a": 1, "guessed_human_b": 0, "guessed_partner": 1}
        given = [{"unit": 0, "aspect": aspect, "value": value} for aspect, value in values.items()]
        submit(connection, task.settings, outsider, page.id, "submission", given, "page")
        export_task(connection, task, tmp_path / "out.jsonl", NAMES)
    (found,) = load(tmp_path / "out.jsonl", kind="dialogues")
    (bot,) = found.systems
    right = bot == "secret-parrot"
    assert {(one.role, one.aspect, one.system): one.value for one in found.ratings} == {
        (INTERLOCUTOR, "overall", ""): 5,
        (INTERLOCUTOR, "guessed_human", ""): 1,
        (INTERLOCUTOR, "guessed_partner", ""): 2,
        (INTERLOCUTOR, "recognised", ""): right,
        (INTERLOCUTOR, "continued", ""): 0,
        (OUTSIDER, "overall", ""): 2,
        (OUTSIDER, "person_guessed_human", ""): 1,
        (OUTSIDER, "guessed_human", bot): 0,
        (OUTSIDER, "guessed_partner", ""): 1,
        (OUTSIDER, "recognised", ""): not right,
    }


def test_only_chats_are_sent_once(study: Database) -> None:
    stored, chatter, _ = started(study)
    rate(study, stored, chatter, talk(study, stored, chatter, Reply("one")))
    with study.writing() as connection:
        task = get_task(connection, send_to_outsiders(connection, stored, NAMES))
        with pytest.raises(InputError, match="already"):
            send_to_outsiders(connection, stored, NAMES)
        with pytest.raises(InputError, match="is not a chat"):
            send_to_outsiders(connection, task, NAMES)

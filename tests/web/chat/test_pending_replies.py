"""A reply that a process of the server asks a bot for is not asked for by another one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import delete, insert, select

from interloq.web.chat import pending_replies
from interloq.web.chat.pending_replies import LONGEST, claim_reply, release_reply
from interloq.web.database import Database
from interloq.web.schema import pending_reply
from tests.web.bots import FLAKY, asked
from tests.web.conftest import Served, add_annotators, chat_task, store_chat, take_item

HOST = pending_replies._name_process().rpartition(":")[0]


@pytest.fixture
def other() -> Iterator[str]:
    """Another process of the server, which lives until the end of the test."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield f"{HOST}:{process.pid}"
        process.communicate(b"\n")


def add_claim(study: Database, assignment: int, process: str, since: float) -> None:
    """Let a process ask for the second turn."""
    with study.writing() as connection:
        connection.execute(delete(pending_reply))
        row = {"assignment_id": assignment, "place": 1, "process": process, "since": since}
        connection.execute(insert(pending_reply).values(**row))


def claim(study: Database, assignment: int, place: int = 1) -> bool:
    """Return whether this process may ask for a turn."""
    with study.writing() as connection:
        return claim_reply(connection, assignment, place)


def test_only_a_process_that_is_alive_is_waited_for(study: Database, other: str) -> None:
    stored = store_chat(study, chat_task())
    assignment = take_item(study, stored, *add_annotators(study, stored)).id
    add_claim(study, assignment, other, time.time())
    assert not claim(study, assignment)
    assert claim(study, assignment, place=3)
    add_claim(study, assignment, f"{HOST}:{2**22 + 1}", time.time())  # no process has this number
    assert claim(study, assignment)
    add_claim(study, assignment, "elsewhere:1", time.time())
    assert not claim(study, assignment)
    add_claim(study, assignment, "elsewhere:1", time.time() - LONGEST - 1)
    assert claim(study, assignment)
    assert claim(study, assignment)  # its own claim, whose reply failed


def test_a_claim_is_released_by_its_process_only(study: Database, other: str) -> None:
    stored = store_chat(study, chat_task())
    assignment = take_item(study, stored, *add_annotators(study, stored)).id
    for process, left in ((other, 1), (f"{HOST}:{os.getpid()}", 0)):
        add_claim(study, assignment, process, time.time())
        with study.writing() as connection:
            release_reply(connection, assignment)
            assert len(connection.execute(select(pending_reply)).all()) == left


def test_a_reloaded_page_waits_for_the_reply_of_another_process(served: Served, other: str) -> None:
    one = served.visit(served.add_chat(chat_task(bots={"secret-parrot": FLAKY})))
    number = one.assignment()
    text = f"Hello {number} across processes"
    one.post("/api/chat/say", {"assignment": number, "place": 0, "text": text}).raise_for_status()
    add_claim(served.database, number, other, time.time())
    replies: list[str] = []
    body = {"assignment": number, "place": 1}
    thread = threading.Thread(target=lambda: replies.append(one.post("/api/chat/reply", body).text))
    thread.start()
    thread.join(1.5)
    assert thread.is_alive()
    assert text not in asked
    with served.database.writing() as connection:  # the other process failed
        connection.execute(delete(pending_reply))
    thread.join(20)
    assert asked.count(text) == 1
    assert f"You said: {text}" in replies[0]
    with served.database.reading() as connection:
        assert connection.execute(select(pending_reply)).all() == []

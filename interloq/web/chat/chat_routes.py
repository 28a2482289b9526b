# SPDX-License-Identifier: Apache-2.0
"""Requests of a conversation: say something, get the reply, end it. Each may be sent again without harm."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import Field

from interloq.play.schedule import seed_of
from interloq.web.access.visitors import Annotator, OwnAssignment, Place, StudyDatabase, at_work
from interloq.web.chat import conversations as chat
from interloq.web.chat.chat_bots import ChatBots, Replies, Show
from interloq.web.chat.chat_budget import spend
from interloq.web.chat.pending_replies import claim_reply, release_reply
from interloq.web.studies.tasks import Stored

router = APIRouter(prefix="/api/chat")
ELSEWHERE = 0.5  # seconds between two looks at a reply that another process of the server asks for
UNBUFFERED = {"X-Accel-Buffering": "no"}  # nginx passes the parts on at once


class NewTurn(Place):
    """Something that the person says."""

    text: str = Field(max_length=chat.LONGEST_TURN)


@router.post("/say")
def say(database: StudyDatabase, visitor: Annotator, said: NewTurn) -> dict[str, Any]:
    """Store a turn of the person."""
    with database.writing() as connection:
        settings = at_work(connection, visitor).settings
        return chat.say(connection, settings, visitor.person, said.assignment, said.place, said.text).show()


@router.post("/reply")
def reply(request: Request, database: StudyDatabase, visitor: Annotator, wanted: Place) -> StreamingResponse:
    """Send the bot's reply as it arrives, then the conversation; the bot is asked unless it has already replied.

    See `Replies.lines` for the format.
    """
    with database.reading() as connection:
        stored = at_work(connection, visitor)
        chat.get_chat(connection, stored.settings, visitor.person, wanted.assignment)  # refused if it is not theirs
    replies: Replies = request.app.state.replies
    ask = partial(_ask_bot, request.app.state, stored, visitor.person, wanted)
    lines = replies.lines((wanted.assignment, wanted.place), ask)
    return StreamingResponse(lines, media_type="application/x-ndjson", headers=UNBUFFERED)


def _ask_bot(state: Any, stored: Stored, person: int, wanted: Place, show: Show) -> dict[str, Any]:
    """Ask the bot between two transactions, so that only the person who talks to it has to wait.

    If the bot may not be asked any more, the conversation says that it has stopped.
    """
    bots: ChatBots = state.bots
    own = (stored.settings, person, wanted.assignment)
    while True:
        with state.study.database.writing() as connection:
            talk = chat.get_chat(connection, *own, lock=True)
            if wanted.place != len(talk.lines) or not talk.waits or talk.ended:
                return talk.show()
            if claim_reply(connection, talk.assignment, wanted.place):
                if not spend(connection, stored, person, talk.bot, state.study.limit):
                    return {**talk.show(), "stopped": True}
                break
        time.sleep(ELSEWHERE)
    seed = seed_of(wanted.place, f"chat {talk.assignment}")
    try:
        bot_reply = bots.reply(talk.bot, talk.spec, talk.turns(), seed, show)
        with state.study.database.writing() as connection:
            return chat.store_reply(connection, *own, wanted.place, bot_reply).show()
    finally:
        with state.study.database.writing(wait_for_disk=False) as connection:
            release_reply(connection, talk.assignment)


@router.post("/end")
def end(database: StudyDatabase, visitor: Annotator, which: OwnAssignment) -> dict[str, Any]:
    """End a conversation early."""
    with database.writing() as connection:
        settings = at_work(connection, visitor).settings
        return chat.end(connection, settings, visitor.person, which.assignment).show()

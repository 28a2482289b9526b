# SPDX-License-Identifier: Apache-2.0
"""Requests of a conversation: say something, get the reply, end it. Each may be sent again without harm."""

from __future__ import annotations

from functools import partial
from typing import Any

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict, Field

from interloq.play.schedule import seed_of
from interloq.web import chat
from interloq.web.people import Visitor
from interloq.web.visitors import Annotator, Number, at_work, database

MOST_PLACES = 10**7
AT_ONCE = 64  # bots that are waited for; they have threads of their own, so that they never hold up other pages


class Place(BaseModel):
    """A conversation, and the place of the turn that is said or wanted."""

    model_config = ConfigDict(extra="forbid")
    assignment: Number
    place: int = Field(ge=0, le=MOST_PLACES)


class Said(Place):
    """Something that the person says."""

    text: str = Field(max_length=chat.LONGEST_TURN)


class End(BaseModel):
    """A conversation to end."""

    model_config = ConfigDict(extra="forbid")
    assignment: Number


def register(app: FastAPI) -> None:
    """Add the routes to the app."""
    app.state.waiting = CapacityLimiter(AT_ONCE)
    app.post("/api/chat/say")(say)
    app.post("/api/chat/reply")(reply)
    app.post("/api/chat/end")(end)


def say(request: Request, visitor: Annotator, said: Said) -> dict[str, Any]:
    """Store a turn of the person."""
    with database(request).writing() as connection:
        settings = at_work(connection, visitor).settings
        return chat.say(connection, settings, visitor.person, said.assignment, said.place, said.text).shown()


async def reply(request: Request, visitor: Annotator, wanted: Place) -> dict[str, Any]:
    """The conversation with the bot's reply at the wanted place; asks the bot unless it replied already."""
    work = partial(_replied, request, visitor, wanted)
    return await to_thread.run_sync(work, limiter=request.app.state.waiting)


def _replied(request: Request, visitor: Visitor, wanted: Place) -> dict[str, Any]:
    """Ask the bot between two transactions, so that nobody waits for it but the person who talks to it."""
    with database(request).reading() as connection:
        settings = at_work(connection, visitor).settings
        found = chat.get_chat(connection, settings, visitor.person, wanted.assignment)
    if wanted.place != len(found.lines) or not found.waits or found.ended:
        return found.shown()
    seed = seed_of(wanted.place, f"chat {wanted.assignment}")
    given = request.app.state.bots.reply(found.bot, found.spec, found.turns(), seed)
    with database(request).writing() as connection:
        return chat.store_reply(connection, settings, visitor.person, wanted.assignment, wanted.place, given).shown()


def end(request: Request, visitor: Annotator, which: End) -> dict[str, Any]:
    """End a conversation early."""
    with database(request).writing() as connection:
        settings = at_work(connection, visitor).settings
        return chat.end(connection, settings, visitor.person, which.assignment).shown()

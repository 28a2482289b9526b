# SPDX-License-Identifier: Apache-2.0
"""Conversations of people with bots: what was said, stored turn by turn before it is shown.

A bot that gives no reply gets a turn without text that names the failure; the person may ask it again. Turns are only
added, each at its own place, so two tabs or a request that is sent twice cannot store a turn twice.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from interloq.errors import InputError
from interloq.records import Turn
from interloq.servers.replies import Reply
from interloq.web.database import make_storable
from interloq.web.schema import assignment, event, item, turn
from interloq.web.studies.questions import StudyTask
from interloq.web.work.assign import note_work

PERSON, BOT = "person", "bot"  # speakers as stored and as bots see them
ENDED = "ended"  # kind of event: the person ended the conversation
LONGEST_TURN = 2_000  # characters
ELSEWHERE = "the conversation was continued elsewhere, perhaps in another tab"


@dataclass(frozen=True)
class ChatLine:
    """A stored turn; without text, a failure of the bot."""

    place: int
    speaker: str
    text: str
    failure: str
    time: float


@dataclass(frozen=True)
class Chat:
    """A conversation as stored."""

    assignment: int
    person: int
    bot: str  # the system's name
    spec: str
    topic: str
    lines: tuple[ChatLine, ...]
    most: int  # turns of the person
    ended_by_person: bool
    finished: bool  # all questions were answered, or there were none
    returned: bool  # the person left without ending it
    first: str = ""  # the person's first message, if it is given

    @property
    def reply_places(self) -> list[int]:
        """Places of the bot's replies."""
        return [line.place for line in self.lines if line.speaker == BOT and line.text]

    @property
    def waits(self) -> bool:
        """Whether a reply of the bot is due."""
        return bool(self.lines) and (self.lines[-1].speaker == PERSON or not self.lines[-1].text)

    @property
    def left(self) -> int:
        """How many more turns the person has."""
        return self.most - sum(line.speaker == PERSON for line in self.lines)

    @property
    def ended(self) -> bool:
        """Whether nothing more may be said."""
        return self.ended_by_person or (self.left <= 0 and not self.waits)

    @property
    def over(self) -> bool:
        """Whether the bot replied and the conversation was ended or left."""
        return bool(self.reply_places) and (self.ended or self.returned)

    def was_continued(self, place: int) -> bool | None:
        """Return whether the person answered the reply at this place; None if the limit of turns prevented it."""
        if place < self.lines[-1].place:
            return True
        return False if self.left > 0 else None

    def turns(self) -> list[Turn]:
        """Return the conversation as the bot sees it."""
        return [Turn(line.text, line.speaker) for line in self.lines if line.text]

    def show(self) -> dict[str, Any]:
        """Return the conversation as the page sees it: nothing says that the partner is a bot, or why it failed."""
        lines = [
            {"place": line.place, "own": line.speaker == PERSON, "text": line.text, "failed": not line.text}
            for line in self.lines
        ]
        return {"turns": lines, "left": self.left, "ended": self.ended, "first": self.first}


def get_chat(
    connection: Connection, settings: StudyTask, person: int, assignment_id: int, *, lock: bool = False
) -> Chat:
    """Return a conversation of this person; `lock` makes others wait until the transaction ends."""
    wanted = _conversations().where(assignment.c.id == assignment_id, assignment.c.person_id == person)
    row = connection.execute(wanted.with_for_update(of=assignment) if lock else wanted).one_or_none()
    if row is None or settings.kind != "chat":
        raise InputError("this conversation belongs to somebody else", hint="reload the page")
    return _load_chats(connection, settings, [row], assignment.c.id == assignment_id)[0]


def all_chats(connection: Connection, settings: StudyTask, task: int) -> list[Chat]:
    """Return all conversations of a task, in the order in which they started."""
    rows = connection.execute(_conversations().where(assignment.c.task_id == task).order_by(assignment.c.id)).all()
    return _load_chats(connection, settings, rows, assignment.c.task_id == task)


def _conversations() -> Any:
    return select(assignment, item.c.hidden, item.c.shown).join(item, item.c.id == assignment.c.item_id)


def _load_chats(connection: Connection, settings: StudyTask, rows: Sequence[Any], which: Any) -> list[Chat]:
    """Return conversations of the rows; `which` selects their assignments."""
    said = select(turn).join(assignment, assignment.c.id == turn.c.assignment_id).where(which)
    lines: dict[int, list[ChatLine]] = {}
    for row in connection.execute(said.order_by(turn.c.place)):
        lines.setdefault(row.assignment_id, []).append(
            ChatLine(row.place, row.speaker, row.text, row.failure, row.time)
        )
    joined = select(event.c.assignment_id).join(assignment, assignment.c.id == event.c.assignment_id)
    ended = set(connection.execute(joined.where(which, event.c.kind == ENDED)).scalars())
    return [
        Chat(
            row.id, row.person_id, row.hidden["units"][0]["system"], row.hidden["spec"], row.shown["topic"],
            tuple(lines.get(row.id, ())), settings.turns, row.id in ended, row.finished is not None,
            row.returned is not None, settings.options.get("first", ""),
        )
        for row in rows
    ]  # fmt: skip


def reply_places(connection: Connection, settings: StudyTask, person: int, assignment_id: int) -> Sequence[int]:
    """Return places of the replies to rate; a conversation that has not ended is refused."""
    talk = get_chat(connection, settings, person, assignment_id)
    if not talk.ended:
        raise InputError("the conversation has not ended", hint="reload the page")
    return talk.reply_places


def say(connection: Connection, settings: StudyTask, person: int, assignment_id: int, place: int, text: str) -> Chat:
    """Store what the person said as the turn at `place`; the same turn may be sent again."""
    talk, text = get_chat(connection, settings, person, assignment_id, lock=True), make_storable(text).strip()
    if not 0 < len(text) <= LONGEST_TURN:
        raise InputError(f"a turn has 1 to {LONGEST_TURN:,} characters, got {len(text):,}")
    if any((line.place, line.speaker, line.text) == (place, PERSON, text) for line in talk.lines):
        return talk
    if place != len(talk.lines) or talk.waits or talk.ended or talk.finished:
        raise InputError(ELSEWHERE, hint="reload the page")
    if not talk.lines and talk.first and text != talk.first:
        raise InputError(f"this conversation starts with {talk.first!r}", hint="reload the page")
    return _add_turn(connection, settings, talk, PERSON, text, "")


def store_reply(
    connection: Connection, settings: StudyTask, person: int, assignment_id: int, place: int, reply: Reply
) -> Chat:
    """Store the bot's reply as the turn at `place`, unless another came first or the person has ended the chat."""
    talk = get_chat(connection, settings, person, assignment_id, lock=True)
    if place != len(talk.lines) or not talk.waits or talk.ended or talk.finished:
        return talk
    return _add_turn(connection, settings, talk, BOT, make_storable(reply.text), make_storable(reply.failure))


def _add_turn(connection: Connection, settings: StudyTask, talk: Chat, speaker: str, text: str, failure: str) -> Chat:
    row = {"assignment_id": talk.assignment, "place": len(talk.lines), "speaker": speaker, "text": text}
    connection.execute(insert(turn).values(**row, failure=failure, time=time.time()))
    note_work(connection, talk.assignment)
    return get_chat(connection, settings, talk.person, talk.assignment)


def end(connection: Connection, settings: StudyTask, person: int, assignment_id: int) -> Chat:
    """End a conversation early. Without any reply there is nothing to rate, so it is finished."""
    talk = get_chat(connection, settings, person, assignment_id, lock=True)
    if not talk.lines:
        raise InputError("nothing was said yet")
    if talk.ended or talk.finished:
        return talk
    now = time.time()
    row = {"person_id": person, "assignment_id": assignment_id, "kind": ENDED, "time": now}
    connection.execute(insert(event).values(**row, data={"turns": len(talk.lines)}))
    if not talk.reply_places:
        note_work(connection, assignment_id, finished=True)
    return get_chat(connection, settings, person, assignment_id)

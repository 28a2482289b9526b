# SPDX-License-Identifier: Apache-2.0
"""Conversations of chats as records: dialogues with the ratings of the interlocutor, and replies as samples.

A rating with the aspect `continued` says whether the person answered a reply: 1 for all replies but the last, and 0 for
the last one if the person ended the conversation or left. If the limit of turns ended it, the last reply has no such
rating. A dialogue has the label of its last reply, without a value if there is none. Conversations that are still going
on are not exported.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from sqlalchemy import Connection, select

from interloq.data.pseudonyms import HASHED, Pseudonyms
from interloq.errors import InputError
from interloq.records import INTERLOCUTOR, Dialogue, Rating, Sample, Turn
from interloq.scorers.interlocutor.continuity_labels import CONTINUED
from interloq.web.access.people import raters
from interloq.web.chat.chat_task import WHOLE
from interloq.web.chat.conversations import BOT, Chat, all_chats
from interloq.web.schema import answer
from interloq.web.studies.items import rate_items
from interloq.web.studies.questions import OPTIONS, StudyTask, export_answer, guesses, with_guesses
from interloq.web.studies.tasks import Stored, add_task

SUFFIX = "-outsiders"


def chat_dialogues(connection: Connection, stored: Stored, name: Pseudonyms) -> Iterator[Dialogue]:
    """Return conversations in the order in which they started, with ratings of the whole."""
    known = raters(connection)
    for chat in _chats(connection, stored):
        person = name(known[chat.person])
        ratings = _answers(connection, stored, chat, person).get(WHOLE, [])
        ratings += _label_turn(chat, person, chat.lines[-1].place)
        # the failures as in dialogues that are played: `name: what at turn n`
        spoken, failures = 0, []
        for line in chat.lines:
            if line.failure:
                failures.append(f"{chat.bot}: {line.failure} at turn {spoken + 1}")
            spoken += bool(line.text)
        yield Dialogue(
            _id(stored, chat), _turns(chat, person), {chat.bot: chat.bot}, ratings, given=int(bool(chat.first)),
            failure="; ".join(failures), occasion=chat.topic or person,
        )  # fmt: skip


def chat_samples(connection: Connection, stored: Stored, name: Pseudonyms) -> Iterator[Sample]:
    """Return the bots' replies with their ratings; `<dialogue>#<n>` is turn n of the dialogue, counted from 0."""
    known = raters(connection)
    for chat in _chats(connection, stored):
        person = name(known[chat.person])
        answers, turns = _answers(connection, stored, chat, person), _turns(chat, person)
        places = [line.place for line in chat.lines if line.text]
        for place in chat.reply_places:
            n = places.index(place)
            labels = [label for label in _label_turn(chat, person, place) if label.value is not None]
            ratings = [*answers.get(place, []), *labels]
            dialogue = _id(stored, chat)
            yield Sample(f"{dialogue}#{n}", turns[:n], turns[n].text, (), chat.bot, ratings, dialogue)


def _chats(connection: Connection, stored: Stored) -> Iterator[Chat]:
    return (chat for chat in all_chats(connection, stored.settings, stored.id) if chat.over)


def _id(stored: Stored, chat: Chat) -> str:
    return f"{stored.settings.name}/{chat.assignment}"


def _turns(chat: Chat, person: str) -> list[Turn]:
    turns = []
    for line in chat.lines:
        if line.text:
            speaker = chat.bot if line.speaker == BOT else person
            turns.append(Turn(line.text, speaker, datetime.fromtimestamp(line.time, UTC).isoformat()))
    return turns


def _answers(connection: Connection, stored: Stored, chat: Chat, person: str) -> dict[int, list[Rating]]:
    """Return ratings by unit."""
    ratings: dict[int, list[Rating]] = {}
    guessed, bot = guesses(stored.settings), {"system": chat.bot}
    wanted = select(answer).where(answer.c.assignment_id == chat.assignment).order_by(answer.c.id)
    for row in connection.execute(wanted):
        for aspect, value, _ in export_answer(guessed, row.aspect, row.value, bot):
            ratings.setdefault(row.unit, []).append(Rating(value, person, aspect, INTERLOCUTOR))
    return ratings


def _label_turn(chat: Chat, person: str, place: int) -> list[Rating]:
    """Return the label of the bot's turn at this place, without a value if the person could not answer."""
    if place not in chat.reply_places:
        return []
    label = chat.was_continued(place)
    return [Rating(None if label is None else float(label), person, CONTINUED, INTERLOCUTOR)]


def send_to_outsiders(connection: Connection, stored: Stored, name: Pseudonyms) -> int:
    """Make a task with all conversations that are over; its page shows the gap to the chatters' ratings."""
    settings = stored.settings
    if settings.kind != "chat":
        raise InputError(f"{settings.name!r} is not a chat but of kind {settings.kind!r}")
    dialogues = list(chat_dialogues(connection, stored, name))
    if not dialogues:
        raise InputError("no conversation is over yet", hint="wait until somebody finished one")
    options = {name: settings.options[name] for name in OPTIONS if name in settings.options}
    task = StudyTask(
        "rate", f"{settings.name[: 80 - len(SUFFIX)]}{SUFFIX}", settings.questions,
        language=settings.language, consent=settings.consent, options=options,
    )  # fmt: skip
    items = rate_items(dialogues, mark_bots=not guesses(task).human)
    source = {"name": settings.name, "kind": "dialogues", "users": HASHED}
    return add_task(connection, with_guesses(task), items, source)

# SPDX-License-Identifier: Apache-2.0
"""A help desk's table: one row per message, with the conversation, the author, the text and the time.

A bot is a system by its name, and people of the company are the system "agent". Internal notes are turns of their own
kind. The customer's satisfaction, repeated in each row, is a rating of the conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from interloq.data.tool_logs.exchange import Exchange, Feedback, pick, pick_name
from interloq.errors import InputError
from interloq.records import INTERLOCUTOR, NOTE, SYSTEM_PROMPT, Rating, Turn

NAME = "helpdesk"
KEEPS = "all messages and notes; ticket, author, role, time; satisfaction and its comment"
COLUMNS = {
    "dialogue": ("ticket_id", "conversation_id", "ticket", "case_id", "thread_id", "chat_id", "conversation"),
    "text": ("body", "message", "text", "content", "plain_body", "comment"),
    "speaker": ("author", "author_name", "sender", "author_id", "from", "user"),
    "role": ("author_role", "author_type", "sender_type", "role", "user_type", "direction"),
    "time": ("created_at", "timestamp", "time", "sent_at", "date"),
    "public": ("public", "is_public"),
    "rating": ("satisfaction", "csat", "rating", "satisfaction_score"),
    "comment": ("satisfaction_comment", "csat_comment", "rating_comment"),
    "id": ("message_id", "id", "comment_id"),
}
AGENT = "agent"
_BOTS = ("bot", "assistant", "ai", "automation")
_PEOPLE = ("customer", "end-user", "end_user", "user", "requester", "contact", "visitor", "lead", "incoming", "inbound")
_NOTICES = ("system", "event")
_WORDS = {"good": 1.0, "bad": 0.0, "offered": None, "unoffered": None}


def matches(value: Mapping[str, Any]) -> bool:
    """Return whether a value is of this tool."""
    names = {name.lower() for name in value}
    return all(names & set(COLUMNS[name]) for name in ("dialogue", "text")) and bool(
        names & {*COLUMNS["speaker"], *COLUMNS["role"]}
    )


def exchanges(value: Mapping[str, Any], _: Mapping[str, Any]) -> Iterator[Exchange | Feedback]:
    """Yield the message of one row, and the rating in it."""
    row = {name.lower(): cell for name, cell in value.items()}
    cells = {field: pick_name(row, *names) for field, names in COLUMNS.items()}
    speaker, role = cells["speaker"] or cells["role"], cells["role"].lower()
    if not speaker:
        raise InputError("the message has no author", hint="name the column: --map user=COLUMN")
    kind, system = "", ""
    if role in _NOTICES:
        kind = SYSTEM_PROMPT
    elif str(pick(row, *COLUMNS["public"])).lower() in ("false", "0", "no"):
        kind = NOTE
    elif role in _BOTS:
        system = speaker
    elif role not in _PEOPLE:
        system = AGENT
    turn = Turn(cells["text"], speaker, kind=kind)
    yield Exchange(
        id=cells["id"],
        prompt=[turn],
        conversation=cells["dialogue"],
        start=cells["time"],
        system=system,
        speaker=speaker,
    )
    if cells["rating"] or cells["comment"]:
        rating = Rating(_number(cells["rating"]), aspect="satisfaction", role=INTERLOCUTOR, comment=cells["comment"])
        yield Feedback(of=cells["dialogue"], rating=rating)


def _number(cell: str) -> float | None:
    if not cell or cell.lower() in _WORDS:
        return _WORDS.get(cell.lower())
    try:
        return float(cell)
    except ValueError:
        raise InputError(
            f"the satisfaction must be a number, got {cell!r:.60}", hint="write 1 to 5, good or bad"
        ) from None

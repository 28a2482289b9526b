# SPDX-License-Identifier: Apache-2.0
"""What importers find in a log: requests with their replies, and what people thought of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from interloq.data.corpus.times import iso, microseconds
from interloq.data.records.messages import assistant_systems, message_turns
from interloq.data.records.parsers import LARGEST
from interloq.data.records.synonyms import NOTHING, find_item
from interloq.errors import InputError
from interloq.records import Dialogue, Rating, Turn

CONVERSATION_NAMES = (
    "conversation_id",
    "thread_id",
    "session_id",
    "dialogue_id",
    "chat_id",
    "conversationId",
    "sessionId",
)
MAPPED = ("id", "dialogue", "context", "response", "system", "user", "time")
_PEOPLE = ("user", "human")
_MESSAGE_LISTS = ("messages", "message", "conversations", "input", "output", "contents", "text", "content", "answer")


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request to a system and its reply, or a whole conversation; `reply` may be empty."""

    id: str = ""
    prompt: Any = ()  # a text, a message, or messages: all that was sent
    reply: Any = ()
    conversation: str = ""
    whole: bool = False  # a conversation by itself, unless it names one
    follows: str = ""  # the id of the exchange before
    user: str = ""
    start: Any = None  # times in any form
    end: Any = None
    system: str = ""
    speaker: str = ""  # who the system is; by default, the assistant
    facts: dict[str, Any] = field(default_factory=dict)  # of the reply; None is left out
    ratings: list[Rating] = field(default_factory=list)  # of the reply
    occasion: str = ""
    failure: str = ""
    source: Mapping[str, Any] = field(default_factory=dict)  # what the user's `--map` looks into


@dataclass(slots=True, kw_only=True)
class Feedback:
    """A rating, or facts, of an exchange that is stored elsewhere, or of a conversation."""

    of: str  # the id of an exchange or of a conversation
    rating: Rating | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def pick(value: Any, *paths: str) -> Any:
    """Return the first item of these paths (`extra.metadata.user`) that is there and not null."""
    for path in paths:
        item = find_item(value, path) if isinstance(value, Mapping) else None
        if item is not None and item is not NOTHING:
            return item
    return None


def pick_name(value: Any, *paths: str) -> str:
    """Return the first item of these paths as a name; numbers count, objects do not."""
    item = pick(value, *paths)
    return "" if item is None or isinstance(item, Mapping | list | bool) else str(item)


def pick_conversation(value: Any, *places: str) -> str:
    """Return the conversation named in one of these places, such as `metadata`; empty if none is named."""
    return pick_name(value, *(f"{place}.{name}".removeprefix(".") for place in places for name in CONVERSATION_NAMES))


def as_number(value: Any) -> float | None:
    """Return a number that may be written as text, as in tables; None if it is none."""
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        return None


def automatic(scores: Mapping[str, Any]) -> dict[str, Any]:
    """Return scores by programs as facts: they must not be taken for ratings by people."""
    return {f"score.{name}": value for name, value in scores.items()}


def apply_columns(exchange: Exchange, value: Mapping[str, Any], columns: Mapping[str, str], used: set[str]) -> None:
    """Replace what the importer found by what the user's `--map` names; other names become facts of the reply."""
    for name, path in columns.items():
        item = find_item(value, path)
        if item is NOTHING:
            continue
        used.add(path)
        if item is None:
            continue
        if name in ("context", "response"):
            setattr(exchange, "prompt" if name == "context" else "reply", item)
        elif name in MAPPED:
            attribute = {"dialogue": "conversation", "time": "start"}.get(name, name)
            setattr(exchange, attribute, item if name == "time" else _as_name(item, path))
        else:
            exchange.facts[name] = item


def _as_name(item: Any, path: str) -> str:
    if isinstance(item, Mapping | list):
        raise InputError(f"{path} is not a name: {item!r:.60}", hint="map a field that has a text or number")
    return str(item)


def read_messages(value: Any, speaker: str) -> list[Turn]:
    """Return the turns of a text, a message, or messages, also within an object such as `{"messages": […]}`.

    A text alone is said by `speaker`.
    """
    if value is None or value in ("", (), [], {}):
        return []
    if isinstance(value, str):
        return [Turn(value, speaker)]
    if isinstance(value, list | tuple):
        turns = []
        for number, message in enumerate(value, start=1):
            if isinstance(message, Turn):
                turns.append(message)
            else:
                turns += [Turn(message, speaker)] if isinstance(message, str) else message_turns(message, number)
        return turns
    if isinstance(value, Mapping):
        if "role" in value or value.get("lc") or "from" in value:
            return message_turns(dict(value))
        for name in _MESSAGE_LISTS:
            if value.get(name):
                return read_messages(value[name], speaker)
        if len(value) == 1:
            return read_messages(next(iter(value.values())), speaker)
        names = ", ".join(map(repr, list(value)[:8]))
        part = "response" if speaker == "assistant" else "context"
        raise InputError(f"an object with {names} is not a message", hint=f"name its text: --map {part}=PATH.TO.TEXT")
    return [Turn(str(value), speaker)]


def as_dialogue(exchange: Exchange) -> Dialogue:
    """Return an exchange as a dialogue under the exchange's own id."""
    prompt, reply = read_messages(_parse_messages(exchange.prompt), "user"), read_messages(exchange.reply, "assistant")
    if not (prompt or reply or exchange.failure):
        hint = "say where they are: --map context=PLACE,response=PLACE"
        raise InputError("neither what was asked nor a reply was found", hint=hint)
    start, end = iso(microseconds(exchange.start)), iso(microseconds(exchange.end))
    seconds = _seconds_between(exchange)
    facts = {"model": exchange.system, "log_id": exchange.id, "latency": seconds, **exchange.facts}
    known = {name: item for name, item in facts.items() if _is_fact(item)}
    _change_last(prompt, time=start)
    _change_last(reply, time=end or start, fields=known, ratings=tuple(exchange.ratings))
    turns = [*prompt, *reply]
    if exchange.user:
        turns = [replace(turn, speaker=exchange.user) if turn.speaker in _PEOPLE else turn for turn in turns]
    systems = {exchange.speaker: exchange.system}
    if not exchange.speaker:
        systems = assistant_systems([turn.speaker for turn in turns], exchange.system)
    return Dialogue(
        exchange.id,
        turns,
        systems if exchange.system and (reply or exchange.speaker) else {},
        failure=exchange.failure,
        occasion=exchange.occasion,
    )


def _parse_messages(prompt: Any) -> Any:
    """Return the messages in a prompt that is their JSON; a reply in JSON is what was said."""
    if isinstance(prompt, str) and prompt[:1] in ("[", "{"):
        try:
            messages = orjson.loads(prompt)
        except orjson.JSONDecodeError:
            return prompt
        first = messages[0] if isinstance(messages, list) and messages else messages
        if isinstance(first, dict) and ("role" in first or "messages" in first):
            return messages
    return prompt


def _change_last(turns: list[Turn], **changes: Any) -> None:
    """Add what is known about a reply to its last utterance, or to its last turn if nothing was said."""
    places = [i for i, turn in enumerate(turns) if not turn.kind] or list(range(len(turns)))
    if places:
        turns[places[-1]] = replace(turns[places[-1]], **changes)


def _seconds_between(exchange: Exchange) -> float | None:
    if exchange.start is None or exchange.end is None:
        return None
    return round((microseconds(exchange.end) - microseconds(exchange.start)) / 1e6, 6)


def _is_fact(item: Any) -> bool:
    if isinstance(item, int | float):
        return -LARGEST < item < LARGEST  # also refuses NaN
    return isinstance(item, str) and item != ""

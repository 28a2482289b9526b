# SPDX-License-Identifier: Apache-2.0
"""Exports of chat programs: Telegram, Discord and Slack as JSON, WhatsApp as text.

WhatsApp does not record replies: a message is taken to answer the one before it, if that is less than a day old.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from interloq.data.corpus.clean import NO_TIME, PostShape, RawPost
from interloq.data.corpus.logs import Piece, Reject, as_text, document, stem, text_lines
from interloq.data.corpus.times import DAY, microseconds
from interloq.data.files.opening import as_line
from interloq.errors import InputError, short_repr

MESSAGE = re.compile(
    r"\u200e?\[?(?P<day>\d{1,4})[./-](?P<month>\d{1,2})[./-](?P<year>\d{1,4}),? "
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?P<half>[\s\u202f][AaPp]\.?[Mm]\.?)?\]?(?: -)? "
    r"(?P<rest>.*)"
)
_TARGET = re.compile(r"<[@#!][^>]*>|<a?:(\w+):\d+>")
_SLACK_LINK = re.compile(r"<(https?://[^|>]+)(?:\|[^>]*)?>")


def read_telegram(piece: Piece, reject: Reject) -> Iterator[RawPost]:
    """Yield the posts of the `result.json` of one chat; ids are unique only within a chat."""
    export = document(piece)
    chat = as_text(export.get("id"), "id") if isinstance(export, dict) else ""

    def post(value: Mapping[str, Any]) -> RawPost:
        shape: PostShape = ""
        if "forwarded_from" in value:
            shape = "retweet"
        elif value.get("type", "message") != "message":
            shape = "notice"
        answered = as_text(value.get("reply_to_message_id"), "reply_to_message_id")
        return RawPost(
            f"{chat}:{_require_text(value, 'id')}",
            as_text(value.get("from_id") or value.get("from"), "from"),
            _telegram_text(value.get("text")),
            microseconds(value.get("date_unixtime") or value.get("date")),
            f"{chat}:{answered}" if answered else "",
            shape=shape,
        )

    yield from _posts(_messages(export), reject, post)


def read_discord(piece: Piece, reject: Reject) -> Iterator[RawPost]:
    """Yield the posts of a JSON export by DiscordChatExporter."""

    def post(value: Mapping[str, Any]) -> RawPost:
        author, reference = _object(value, "author"), _object(value, "reference")
        return RawPost(
            _require_text(value, "id"),
            as_text(author.get("id") or author.get("name"), "author"),
            _TARGET.sub(" ", as_text(value.get("content"), "content")),
            microseconds(value.get("timestamp")),
            as_text(reference.get("messageId"), "messageId"),
            shape="" if value.get("type", "Default") in ("Default", "Reply") else "notice",
        )

    yield from _posts(_messages(document(piece)), reject, post)


def read_slack(piece: Piece, reject: Reject) -> Iterator[RawPost]:
    """Yield the posts of one day of a channel; a message in a thread answers the thread's first message."""
    channel = PurePath(piece.name).parent.name

    def post(value: Mapping[str, Any]) -> RawPost:
        time, thread = _require_text(value, "ts"), as_text(value.get("thread_ts"), "thread_ts")
        text = _SLACK_LINK.sub(r"\1", as_text(value.get("text"), "text"))
        return RawPost(
            f"{channel}:{time}",
            as_text(value.get("user") or value.get("bot_id"), "user"),
            _TARGET.sub(" ", text),
            microseconds(time),
            f"{channel}:{thread}" if thread and thread != time else "",
            shape="" if value.get("subtype", "thread_broadcast") == "thread_broadcast" else "notice",
        )

    yield from _posts(document(piece), reject, post)


def read_whatsapp(piece: Piece, reject: Reject) -> Iterator[RawPost]:
    """Yield the posts of lines `12/31/20, 10:15 PM - Ann: text`; a line without a time continues the one before it."""
    name_of_file = stem(piece.name)
    swapped = _month_first(piece)
    before: RawPost | None = None
    for number, first, more in _whatsapp_messages(piece, reject):
        name, colon, text = first["rest"].partition(": ")
        try:
            time = _whatsapp_time(first, swapped)
        except InputError as error:
            reject(number, "\n".join([first[0], *more]).encode(), error)
            continue
        id = f"{name_of_file}:{number}"
        if not colon:
            yield RawPost(id, "", "", NO_TIME, shape="notice")
            continue
        answered = ""
        if before is not None and 0 <= time - before.time < DAY:
            answered = before.id
        before = RawPost(id, name, "\n".join([text, *more]), time, answered)
        yield before


def _whatsapp_messages(piece: Piece, reject: Reject) -> Iterator[tuple[int, re.Match[str], list[str]]]:
    open_message: tuple[int, re.Match[str], list[str]] | None = None
    for number, line in text_lines(piece, reject):
        first = MESSAGE.match(line)
        if first:
            if open_message:
                yield open_message
            open_message = (number, first, [])
        elif open_message:
            open_message[2].append(line)
        elif line.strip():
            reject(number, line.encode(), InputError(f"not a message: {line!r:.60}", hint="export the chat again"))
    if open_message:
        yield open_message


def _month_first(piece: Piece) -> bool:
    """Return whether dates are month/day: more dates are valid only in this order than only in the other."""
    only_month_first = only_day_first = 0
    for line in piece.data.decode("utf-8", "replace").split("\n"):
        if message := MESSAGE.match(line):
            first, second = int(message["day"]), int(message["month"])
            only_month_first += first <= 12 < second
            only_day_first += second <= 12 < first
    return only_month_first > only_day_first


def _whatsapp_time(message: re.Match[str], month_first: bool) -> int:
    day, month, year = int(message["day"]), int(message["month"]), int(message["year"])
    if len(message["day"]) == 4:
        day, year = year, day
    if month_first:
        day, month = month, day
    if year < 100:
        year += 2000
    hour = int(message["hour"])
    half = (message["half"] or "").strip().lower()
    if half:
        hour %= 12
    if half.startswith("p"):
        hour += 12
    return microseconds(f"{year:04}-{month:02}-{day:02}T{hour:02}:{message['minute']}:{message['second'] or '00'}")


def _posts(values: Any, reject: Reject, make: Callable[[Mapping[str, Any]], RawPost]) -> Iterator[RawPost]:
    """Yield posts of the messages of an export; a bad message is named by its number."""
    if not isinstance(values, list):
        raise InputError("expected a list of messages", hint="name the file of one chat")
    for number, value in enumerate(values, 1):
        try:
            if not isinstance(value, dict):
                raise InputError(f"expected a message, got {short_repr(value)}", hint="export the chat again")
            post = make(value)
        except InputError as error:
            reject(number, as_line(value), error)
            continue
        yield post


def _messages(export: Any) -> Any:
    if not isinstance(export, dict) or "messages" not in export:
        raise InputError("the file has no 'messages'", hint="name the file of one chat")
    return export["messages"]


def _telegram_text(value: Any) -> str:
    """Return the text, which may be split into pieces for links and emphasis."""
    if not isinstance(value, list):
        return as_text(value, "text")
    text = ""
    for part in value:
        text += as_text(part.get("text") if isinstance(part, dict) else part, "text")
    return text


def _object(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a field that should be an object; empty if it is not."""
    inner = value.get(name)
    if not isinstance(inner, dict):
        return {}
    return inner


def _require_text(value: Mapping[str, Any], name: str) -> str:
    text = as_text(value.get(name), name)
    if not text:
        raise InputError(f"{name} is missing", hint="export the chat again")
    return text

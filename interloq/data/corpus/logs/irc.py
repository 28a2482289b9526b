# SPDX-License-Identifier: Apache-2.0
"""IRC logs: lines `[hh:mm] <nick> text`, with or without a date and seconds; one file per day.

Replies are given by an annotation next to the log (`x.annotation.txt` for `x.ascii.txt`: lines `i j -`, counted from 0;
line j answers line i, and i = j starts a conversation). If a line answers several, the last one counts. Without an
annotation, a line that starts with a name (`ann: yes`) answers the last line of that person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

from interloq.data.corpus.clean import NO_TIME, RawPost
from interloq.data.corpus.logs import Piece, Reject, stem, text_lines
from interloq.data.corpus.times import DAY, SECOND, microseconds
from interloq.errors import InputError

LINE = re.compile(
    r"\[?(?:(?P<date>\d{4}-\d\d-\d\d)[T ])?(?P<time>\d\d:\d\d(?::\d\d)?)\]?\s*"
    r"<[ @+%&~]?(?P<nick>[^>\s]+)> ?(?P<text>.*)"
)
NOTICE = re.compile(
    r"===|\* |\*\*\*|-!-|-->|<--|\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d)?\]?\s*(?:\*|===|-!-|-->|<--|--|-\S+- )"
)
DATE = re.compile(r"(\d{4})[-_.]?(\d\d)[-_.]?(\d\d)")
NUMBER = re.compile(r"[0-9]{1,18}")
ADDRESS = re.compile(r"([^\s:,<>]{1,32})[:,]\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class IrcMessage:
    """One message of the log."""

    index: int  # counted from 0, as in annotations
    nick: str
    text: str
    time: int


def read(piece: Piece, reject: Reject) -> Iterator[RawPost]:
    """Yield the posts of an IRC log, each with the line it answers, if known."""
    name = stem(piece.name)
    answers = _read_annotation(piece)
    nicks: set[str] = set()
    last: dict[str, int] = {}  # the last line of each person so far
    for message in _lines(piece, reject):
        if not message.nick:
            yield RawPost(f"{name}:{message.index}", "", "", NO_TIME, shape="notice")
            continue
        nicks.add(message.nick)
        addressee, text = "", message.text
        address = ADDRESS.match(text)
        if address and address[1] in nicks:
            addressee, text = address[1], text[address.end() :]
        answered = answers.get(message.index) if piece.links else last.get(addressee)
        reply_to = "" if answered is None else f"{name}:{answered}"
        last[message.nick] = message.index
        yield RawPost(f"{name}:{message.index}", message.nick, text, message.time, reply_to)


def _lines(piece: Piece, reject: Reject) -> Iterator[IrcMessage]:
    """Yield the messages, with full times; system messages have no nick."""
    day, clock = _day(piece.name), -1
    for number, line in text_lines(piece, reject):
        message = LINE.match(line)
        if not message:
            if NOTICE.match(line) or not line.strip():
                yield IrcMessage(number - 1, "", "", NO_TIME)
            else:
                hint = "write [hh:mm] <nick> text"
                reject(number, line.encode(), InputError(f"not a line of IRC: {line!r:.60}", hint=hint))
            continue
        if message["date"]:
            try:
                day, clock = microseconds(message["date"]), -1
            except InputError as error:
                reject(number, line.encode(), error)
                continue
        hours, minutes, *seconds = map(int, message["time"].split(":"))
        now = 3600 * hours + 60 * minutes + sum(seconds)
        time = NO_TIME
        if day != NO_TIME:
            if now < clock - 12 * 3600:  # past midnight
                day += DAY
            time = day + now * SECOND
        clock = now
        yield IrcMessage(number - 1, message["nick"], message["text"], time)


def _read_annotation(piece: Piece) -> dict[int, int]:
    """Return the number of the line that each line answers."""

    def refuse(number: int, _: bytes, error: InputError) -> None:
        raise InputError(error.what, hint=error.hint, where=f"annotation of {piece.name}:{number}")

    answers: dict[int, int] = {}
    for number, line in text_lines(replace(piece, data=piece.links), refuse):
        words = line.split()
        if not words:
            continue
        if len(words) < 2 or not all(NUMBER.fullmatch(word) for word in words[:2]):
            where = f"annotation of {piece.name}:{number}"
            raise InputError(f"expected two line numbers, got {line!r:.60}", hint="write: i j -", where=where)
        first, second = sorted((int(words[0]), int(words[1])))
        if first != second:
            answers[second] = max(first, answers.get(second, -1))
    return answers


def _day(name: str) -> int:
    """Return the date in a file's name; digits that are not a date are ignored."""
    date = DATE.search(PurePath(name).name)
    if date is None:
        return NO_TIME
    try:
        return microseconds("-".join(date.groups()))
    except InputError:
        return NO_TIME

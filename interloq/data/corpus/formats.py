# SPDX-License-Identifier: Apache-2.0
"""The formats of logs, and their detection from the start of a file."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from interloq.data.batched import batched
from interloq.data.corpus.clean import Columns, RawPost, columns_of
from interloq.data.corpus.logs import Piece, Reject, chats, irc, named_fields, reddit, twitter
from interloq.errors import InputError, nearest

Reader = Callable[[Piece, Reject], Iterator[RawPost]]
READERS: dict[str, Reader] = {
    "posts": named_fields.read,
    "table": named_fields.read_table,
    "twitter": twitter.read,
    "reddit": reddit.read,
    "irc": irc.read,
    "telegram": chats.read_telegram,
    "discord": chats.read_discord,
    "slack": chats.read_slack,
    "whatsapp": chats.read_whatsapp,
}
WHOLE = ("irc", "telegram", "discord", "slack", "whatsapp")  # formats in which a file must be read at once
_TELEGRAM = re.compile(rb'"(?:from_id|date_unixtime|actor_id)"')
_DISCORD = re.compile(rb'"(?:guild|timestampEdited|isPinned)"')
_SLACK = re.compile(rb'"ts"\s*:\s*"\d+\.\d+"')


def read_piece(piece: Piece, reject: Reject) -> Iterator[RawPost]:
    """Yield the posts of a piece of a log; a file that cannot be read at all is set aside like a bad line."""
    if piece.overlong:
        what = f"the line is longer than {len(piece.data):,} bytes"
        reject(piece.first_line, piece.data, InputError(what, hint="write one post per line"))
        return
    try:
        yield from READERS[piece.format](piece, reject)
    except InputError as error:
        if not piece.whole:
            raise
        reject(1, piece.data, error)


def read_batches(piece: Piece, reject: Reject) -> Iterator[Columns]:
    """Yield the posts of a piece, a few thousand at a time."""
    if piece.format == "posts" and not (piece.overlong or piece.whole):
        yield from named_fields.read_columns(piece, reject)
        return
    yield from map(columns_of, batched(read_piece(piece, reject), named_fields.BATCH))


def check_format(name: str) -> str:
    """Return the name of a known format; others are refused."""
    if name != "auto" and name not in READERS:
        raise InputError(f"unknown format {name!r}{nearest(name, READERS)}")
    return name


def guess_format(head: bytes, suffix: str) -> str:
    """Return the format of a file that starts like this; empty if unknown."""
    if suffix in (".csv", ".tsv"):
        return "table"
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head[:1] == b"{" or is_list(head):
        return _guess_json_format(head)
    text = head.decode("utf-8", "replace").split("\n")[:200]
    if any(irc.LINE.match(line) for line in text):
        return "irc"
    if any(chats.MESSAGE.match(line) for line in text):
        return "whatsapp"
    return ""


def is_list(head: bytes) -> bool:
    """Return whether a file is a JSON list of objects; lines of IRC also start with a bracket."""
    head = head.lstrip()
    return head[:1] == b"[" and head[1:].lstrip()[:1] in (b"{", b"]")


def _guess_json_format(head: bytes) -> str:
    for value in _first_objects(head):
        if "kind" in value and "schema" in value:
            return "posts"
        if twitter.is_twitter(value):
            return "twitter"
        if reddit.is_reddit(value):
            return "reddit"
    if b'"messages"' in head and _TELEGRAM.search(head):
        return "telegram"
    if b'"messages"' in head and _DISCORD.search(head):
        return "discord"
    if head[:1] == b"[" and _SLACK.search(head):
        return "slack"
    return "posts"


def _first_objects(head: bytes) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of the first lines, or the first object of a list that starts here."""
    if is_list(head):
        text = head.decode("utf-8", "replace")
        with contextlib.suppress(ValueError, RecursionError):
            value, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])
            yield value
        return
    for line in head.split(b"\n")[:20]:
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict):
            yield value


def names_in(head: bytes) -> list[str]:
    """Return the names of the fields that the first objects have."""
    names: dict[str, None] = {}
    for value in _first_objects(head.removeprefix(b"\xef\xbb\xbf").lstrip()):
        names |= dict.fromkeys(value)
    return list(names)

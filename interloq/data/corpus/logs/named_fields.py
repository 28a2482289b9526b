# SPDX-License-Identifier: Apache-2.0
"""Posts in Interloq's own format, and any JSONL, CSV or TSV with a field or column for each part of a post."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter, methodcaller
from typing import Any

import orjson

from interloq.data.corpus.clean import Columns, RawPost, columns_of
from interloq.data.corpus.logs import Piece, Reject, as_text, objects, stem
from interloq.data.corpus.times import LATEST_SECONDS, SECOND, microseconds
from interloq.data.files.opening import MAX_LINE, not_utf8
from interloq.errors import InputError

# names of the parts of a post in logs; the first name that a log uses counts
NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "post_id", "message_id", "msg_id", "id_str"),
    "user": ("user", "author", "user_id", "author_id", "speaker", "sender", "from", "username", "nick"),
    "text": ("text", "body", "content", "message", "msg"),
    "time": ("time", "timestamp", "created_at", "created_utc", "date", "datetime", "ts"),
    "reply_to": ("reply_to", "in_reply_to", "in_reply_to_id", "reply_to_id", "parent_id", "parent"),
    "lang": ("lang", "language"),
}
LONGEST_ROW = 1000  # lines per row
REREAD = 4  # how often the lines of a piece are read again after unclosed quotes; then each line is a row
BATCH = 2048  # so that their characters fit into the cache
Get = Callable[[Mapping[str, Any]], Any]
Make = Callable[[dict[str, Any], int], RawPost]


def choose_fields(names_in_log: Sequence[str], chosen: Mapping[str, str], where: str) -> dict[str, str]:
    """Map each part of a post to its name in the log: the chosen one, or the first usual name that the log has."""
    fields = dict(chosen)
    for part, usual_names in NAMES.items():
        for name in usual_names:
            if part not in fields and name in names_in_log:
                fields[part] = name
    for part in ("user", "text"):
        if part not in fields:
            hint = f"name it with --field {part}=NAME; the log has {', '.join(names_in_log) or 'none'}"
            raise InputError(f"no field for the {part} of a post", hint=hint, where=where)
    return fields


def read(piece: Piece, reject: Reject) -> Iterator[RawPost]:
    """Yield the posts of JSON objects."""
    for columns in read_columns(piece, reject):
        yield from map(RawPost._make, zip(*columns, strict=True))


def read_columns(piece: Piece, reject: Reject) -> Iterator[Columns]:
    """Yield the posts of JSON objects, a few thousand at a time."""
    make = _maker(piece.fields, stem(piece.name))
    if piece.whole:
        yield columns_of(list(_read_one_by_one(piece, make, reject)))
        return
    lines = piece.data.removesuffix(b"\n").split(b"\n")
    headed = b'"schema"' in piece.data  # perhaps a header
    for start in range(0, len(lines), BATCH):
        batch = lines[start : start + BATCH]
        columns = None if headed else _at_once(batch, piece.fields)
        if columns is None:
            part = replace(piece, data=b"\n".join(batch), first_line=piece.first_line + start)
            columns = columns_of(list(_read_one_by_one(part, make, reject)))
        yield columns


def _read_one_by_one(piece: Piece, make: Make, reject: Reject) -> Iterator[RawPost]:
    for number, line, value in objects(piece, reject):
        try:
            yield make(value, number)
        except InputError as error:
            reject(number, line, error)


def read_table(piece: Piece, reject: Reject) -> Iterator[RawPost]:
    """Yield the posts of rows."""
    make = _maker(piece.fields, stem(piece.name))
    for number, line, cells in _rows(piece, reject):
        if any(cells) and len(cells) != len(piece.columns):
            what = f"{len(cells)} cells for {len(piece.columns)} columns"
            reject(number, line, InputError(what, hint="quote cells that contain the separator"))
        elif any(cells):
            try:
                yield make(dict(zip(piece.columns, cells, strict=True)), number)
            except InputError as error:
                reject(number, line, error)


def _at_once(lines: Sequence[bytes], fields: Mapping[str, str]) -> Columns | None:
    """Return the posts of many lines, as columns; None if a line needs to be checked on its own."""
    if any("." in name for name in fields.values()) or "id" not in fields:
        return None
    try:
        values = list(map(orjson.loads, lines))
    except orjson.JSONDecodeError:
        return None
    if set(map(type, values)) != {dict}:
        return None
    names = [fields.get(part, "") for part in NAMES]
    try:
        columns = list(zip(*map(itemgetter(*names), values), strict=True))
    except KeyError:  # some of them lack a part
        columns = []
        for name in names:
            columns.append(tuple(value.get(name) for value in values))
    parts = dict(zip(NAMES, columns, strict=True))
    times = _as_times(parts.pop("time"))
    ids, users, texts, replies, langs = map(_as_texts, parts.values())
    if ids is None or users is None or texts is None or replies is None or langs is None or times is None:
        return None
    if not all(ids):
        return None
    nothing = [""] * len(values)
    return Columns(_plain_ids(ids), users, texts, times, _plain_ids(replies), langs, nothing, nothing)


def _as_texts(column: Sequence[Any]) -> list[str] | None:
    """Return `as_text` of every value; None if their types need to be checked one by one."""
    kinds = set(map(type, column))
    if kinds == {str}:
        return list(column)
    if kinds <= {str, type(None)}:
        return [value or "" for value in column]
    if kinds == {int}:
        return list(map(str, column))
    return None


def _as_times(column: Sequence[Any]) -> list[int] | None:
    """Return `microseconds` of every value; None if one cannot be read."""
    if set(map(type, column)) == {int} and min(column) >= 0 and max(column) <= LATEST_SECONDS:
        return [value * SECOND for value in column]
    try:
        return list(map(microseconds, column))
    except InputError:
        return None


def _maker(fields: Mapping[str, str], name_of_file: str) -> Make:
    """Return a function from a record and its number to a post."""
    get_id, get_user, get_text = (_getter(fields.get(part, "")) for part in ("id", "user", "text"))
    get_time, get_reply, get_lang = (_getter(fields.get(part, "")) for part in ("time", "reply_to", "lang"))

    def make(value: dict[str, Any], number: int) -> RawPost:
        id, user, text = get_id(value), get_user(value), get_text(value)
        reply_to, lang = get_reply(value), get_lang(value)
        if not (id.__class__ is user.__class__ is text.__class__ is reply_to.__class__ is lang.__class__ is str):
            id, user = as_text(id, "id"), as_text(user, "user")
            text, reply_to, lang = as_text(text, "text"), as_text(reply_to, "reply_to"), as_text(lang, "lang")
        id = _plain_id(id) or f"{name_of_file}:{number}"
        return RawPost(id, user, text, microseconds(get_time(value)), _plain_id(reply_to), lang)

    return make


def _getter(name: str) -> Get:
    """Return a function that looks up a field; `author.name` looks inside an object."""
    if not name:
        return lambda _: ""
    if "." not in name:
        return methodcaller("get", name)
    outer, _, inner = name.partition(".")
    get = _getter(inner)

    def inside(value: Mapping[str, Any]) -> Any:
        record = value.get(outer)
        if not isinstance(record, dict):
            return None
        return get(record)

    return inside


def _plain_id(id: str) -> str:
    """Return the id without Reddit's prefix: links have `t1_abc`, the post itself `abc`."""
    if id.startswith(("t1_", "t3_")):
        return id[3:]
    return id


def _plain_ids(ids: list[str]) -> list[str]:
    joined = "\n".join(ids)
    if "t1_" in joined or "t3_" in joined:
        return list(map(_plain_id, ids))
    return ids


def _rows(piece: Piece, reject: Reject) -> Iterator[tuple[int, bytes, list[str]]]:
    """Yield the number, line and cells of every row. After an unclosed quote, reading resumes at the next line."""
    csv.field_size_limit(MAX_LINE)
    lines = []
    # an invalid line becomes empty, to keep the line numbers right
    for number, line in enumerate(piece.data.removesuffix(b"\n").split(b"\n"), piece.first_line):
        try:
            lines.append(line.decode("utf-8") + "\n")
        except UnicodeDecodeError as error:
            reject(number, line, not_utf8(error))
            lines.append("\n")
    start, reread = 0, 0
    while start < len(lines):
        feed = _TableLines(lines, start, longest=LONGEST_ROW if reread < REREAD * len(lines) else 1)
        try:
            for cells in csv.reader(feed, delimiter=piece.delimiter, strict=True):
                yield piece.first_line + feed.row, "".join(lines[feed.row : feed.next]).encode(), cells
                feed.row = feed.next
            return
        except csv.Error as error:
            bad = InputError(f"not a valid row: {error}", hint="close every quote")
            reject(piece.first_line + feed.row, lines[feed.row].encode(), bad)
            start = feed.row + 1
            reread += feed.next - start


class _TableLines(Iterator[str]):
    """Lines from a given line on; a row of more than `longest` lines has an unclosed quote."""

    def __init__(self, lines: Sequence[str], start: int, *, longest: int) -> None:
        self.lines, self.row, self.next, self.longest = lines, start, start, longest

    def __next__(self) -> str:
        if self.next == len(self.lines):
            raise StopIteration
        if self.next - self.row >= self.longest:
            raise csv.Error(f"no closing quote within {self.longest} lines")
        self.next += 1
        return self.lines[self.next - 1]

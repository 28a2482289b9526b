# SPDX-License-Identifier: Apache-2.0
"""Readers of logs, one module per format. A reader turns a piece of a file into raw posts and sets bad lines aside."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import orjson

from interloq.data.files.opening import as_line, not_utf8
from interloq.errors import InputError, short_repr

Reject = Callable[[int, bytes, InputError], None]  # line number, line, error


@dataclass(frozen=True, slots=True)
class Piece:
    """Complete lines of a file, or a whole file; `first_line` is the number of the first."""

    name: str  # the file's name in messages
    format: str
    data: bytes
    first_line: int = 1
    columns: tuple[str, ...] = ()  # of a table
    delimiter: str = ","
    fields: Mapping[str, str] = field(default_factory=dict)  # field of a post → its name in the log
    links: bytes = b""  # IRC: the annotation of which line answers which
    whole: bool = False
    overlong: bool = False  # the data is the start of one line that is too long


def stem(name: str) -> str:
    """Return the prefix for ids of posts without ids: the file's folder and its name without suffixes."""
    path = PurePath(name)
    bare_name = re.split(r"\.(?:txt|log|ascii|raw|json|jsonl|csv|tsv)\b", path.name)[0]
    return "/".join([*path.parts[-2:-1], bare_name]).lstrip("/")


def objects(piece: Piece, reject: Reject) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    """Yield the JSON objects of a piece: one per line, or the members of a list in a whole file."""
    if piece.whole:
        yield from _members(piece, reject)
        return
    for number, line in enumerate(piece.data.split(b"\n"), piece.first_line):
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            if line.strip():
                reject(number, line, _bad_json(line, error))
            continue
        if value.__class__ is not dict:
            reject(number, line, _not_an_object(value))
        elif not ("schema" in value and "kind" in value):
            yield number, line, value
        elif value["kind"] != "posts":
            what, where = f"the file contains {value['kind']}, expected posts", f"{piece.name}:{number}"
            raise InputError(what, hint="name another file", where=where)


def document(piece: Piece) -> Any:
    """Return the one JSON value of a whole file."""
    try:
        return orjson.loads(piece.data)
    except orjson.JSONDecodeError as error:
        bad = _bad_json(piece.data, error)
        raise InputError(f"line {error.lineno}: {bad.what}", hint="export the chat again") from error


def text_lines(piece: Piece, reject: Reject) -> Iterator[tuple[int, str]]:
    """Yield numbered lines of UTF-8 text; others are rejected."""
    for number, line in enumerate(piece.data.removesuffix(b"\n").split(b"\n"), piece.first_line):
        try:
            yield number, line.decode("utf-8").rstrip("\r")
        except UnicodeDecodeError as error:
            reject(number, line, not_utf8(error))


def as_text(value: Any, name: str) -> str:
    """Return a text, or a number as text; empty for None."""
    if value.__class__ is str:
        return str(value)
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InputError(f"{name} must be text, got {short_repr(value)}", hint="fix its type")


def _members(piece: Piece, reject: Reject) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    values = document(piece)
    if not isinstance(values, list):
        raise InputError(f"expected a list of posts, got {type(values).__name__}", hint="name a file of posts")
    for number, value in enumerate(values, 1):
        if isinstance(value, dict):
            yield number, as_line(value), value
        else:
            reject(number, as_line(value), _not_an_object(value))


def _bad_json(line: bytes, error: orjson.JSONDecodeError) -> InputError:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as bad:
        return not_utf8(bad)
    hint = "write each post as one JSON object on one line"
    if b"NaN" in line or b"Infinity" in line:
        hint = "JSON has no NaN or infinity: omit the field"
    return InputError(f"not valid JSON ({error.msg} at column {error.colno})", hint=hint)


def _not_an_object(value: Any) -> InputError:
    return InputError(f"expected a JSON object, got {type(value).__name__}", hint="write one post per line")

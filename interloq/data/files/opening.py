# SPDX-License-Identifier: Apache-2.0
"""Opening and replacing files: compression by suffix, `-` for a pipe, atomic writes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import orjson

from interloq.data.files.compression import COMPRESSED, compress, damage, decompress_records
from interloq.data.files.durable import atomic_file
from interloq.data.files.write_errors import format_error_line, writing
from interloq.errors import InputError, InterloqError, short_repr

MAX_LINE = 64 * 2**20  # longer lines are not records, and several copies would not fit in memory

PIECE = 2**20
SMALL = 16 * 2**20  # for files that are read at once: settings, lists of bots, tables of people's scores
# errors when parsing a damaged or malicious file
UNREADABLE = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip


def plain_suffix(path: str | Path) -> str:
    """Return the suffix before the compression suffix: `.csv` for `a.csv.gz`."""
    for suffix in reversed(Path(path).suffixes):
        if suffix.lower() not in COMPRESSED:
            return suffix.lower()
    return ""


@contextlib.contextmanager
def open_bytes(path: str | Path) -> Iterator[IO[bytes]]:
    """Yield the decompressed bytes of a file, or of standard input for `-`."""
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder", hint="name a file")
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", hint="check the path") from error
    with file, decompress_records(file, path.suffix.lower()) as stream:
        yield stream


def lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines without line ends; a line over MAX_LINE is truncated just above that size."""
    with open_bytes(path) as stream:
        number = 0
        try:
            while line := stream.readline(MAX_LINE + 1):
                number += 1
                is_cut = not line.endswith(b"\n") and len(line) > MAX_LINE
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                yield number, line.rstrip(b"\r\n")
                while is_cut:  # the rest is skipped in pieces, and only if a further line is wanted
                    rest = stream.readline(MAX_LINE)
                    is_cut = bool(rest) and not rest.endswith(b"\n")
        except damage() as error:
            raise InputError(
                f"the file is damaged or truncated: {error}", hint="copy it again", where=f"{path}:{number + 1}"
            ) from error


def read_small(path: str | Path, *, limit: int = SMALL) -> bytes:
    """Return all decompressed bytes of a file; a file with more than `limit` is refused before it fills the memory."""
    return b"".join(pieces(path, limit=limit))


def check_size(path: str | Path, *, limit: int = SMALL) -> None:
    """Refuse a file of more than `limit` bytes, since all its records are kept in memory; pipes are accepted."""
    if str(path) != "-":
        for _ in pieces(path, limit=limit):
            pass


def pieces(path: str | Path, *, limit: int) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file in pieces, or raise an error as soon as there are more than `limit`."""
    left = limit
    try:
        with open_bytes(path) as stream:
            while piece := stream.read(min(PIECE, left + 1)):
                left -= len(piece)
                if left < 0:
                    what = f"the file has more than {limit >> 20} MiB, which is too much for a file of its kind"
                    raise InputError(what, hint="check that it is the right file", where=str(path))
                yield piece
    except damage() as error:
        raise InputError(f"the file is damaged or truncated: {error}", hint="copy it again", where=str(path)) from error


def read_json(path: str | Path, *, hint: str = "copy it again", limit: int = SMALL) -> dict[str, Any]:
    """Return the JSON object in a file."""
    value = parse_json(read_small(path, limit=limit), str(path), hint=hint)
    if not isinstance(value, dict):
        raise InputError(f"expected a JSON object, got {type(value).__name__}", hint=hint, where=str(path))
    return value


def read_json_list(path: str | Path, *, hint: str = "copy it again", limit: int = SMALL) -> list[Any]:
    """Return the JSON list in a file."""
    value = parse_json(read_small(path, limit=limit), str(path), hint=hint)
    if not isinstance(value, list):
        raise InputError(f"expected a JSON list, got {type(value).__name__}", hint=hint, where=str(path))
    return value


def parse_json(data: bytes | str, where: str, *, hint: str = "copy it again") -> Any:
    """Return the JSON value of a whole file; errors name line and column."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        what = f"not valid JSON ({error.msg} at line {error.lineno}, column {error.colno})"
        raise InputError(what, hint=hint, where=where) from error


def not_utf8(error: UnicodeDecodeError, where: str = "") -> InputError:
    """Return the error for text that is not UTF-8."""
    return InputError(f"byte {error.start + 1} is not valid UTF-8", hint="save the file as UTF-8", where=where)


def as_line(value: Any) -> bytes:
    """Return a JSON value on one line; a value that is nested too deeply is shortened."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return short_repr(value).encode()


@contextlib.contextmanager
def reading_saved(
    where: str | Path, what: str = "the saved files are damaged", *, hint: str = "copy or create them again"
) -> Iterator[None]:
    """Report any error while opening saved files as damage, in one line.

    Only for code that parses saved values: errors of code that uses them afterwards must not be hidden.
    """
    try:
        yield
    except InterloqError:
        raise
    except UNREADABLE as error:
        why = format_error_line(error)
        if isinstance(error, KeyError):
            why = f"{error} is missing"
        raise InputError(f"{what}: {why}", hint=hint, where=str(where)) from error


@contextlib.contextmanager
def replacing(path: str | Path, *, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Yield a file that gets its name only when it is complete (see `atomic_file`); `-` writes to standard output."""
    if str(path) == "-":
        if sys.stdout is None or getattr(sys.stdout, "name", "") == os.devnull:
            raise InputError("standard output is closed", hint="name a file, or open it")
        with writing("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    with atomic_file(path, mode=mode) as file, compress(file, Path(path).suffix.lower()) as stream:
        yield stream


def write_json(path: str | Path, value: Any) -> None:
    """Write a value as indented JSON."""
    with replacing(path) as file:
        file.write(json_bytes(value))


def write_text(path: str | Path, text: str) -> None:
    """Write a text as UTF-8; lone surrogates are replaced."""
    with replacing(path) as file:
        file.write(text.encode("utf-8", "replace"))


def json_bytes(value: Any) -> bytes:
    """Return a value as indented JSON."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

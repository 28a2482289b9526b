"""Opening and replacing files: compression by suffix, `-` for a pipe, atomic writes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import orjson

from interloq.data.compression import COMPRESSED, compressed, damage, decompressed
from interloq.data.durable import whole_file
from interloq.data.write_errors import one_line, writing
from interloq.errors import InputError, InterloqError, short_repr

MAX_LINE = 64 * 2**20  # a longer line is not a record, and would not fit in memory a few times over

PIECE = 2**20
SMALL = 16 * 2**20  # of files that are read whole: settings, lists of bots, tables of people's scores
# what parsing a file that was damaged or made to do harm may raise
UNREADABLE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


def plain_suffix(path: str | Path) -> str:
    """The suffix under the compression: `.csv` for `a.csv.gz`."""
    suffixes = [s.lower() for s in Path(path).suffixes]
    return next((s for s in reversed(suffixes) if s not in COMPRESSED), "")


@contextlib.contextmanager
def open_bytes(path: str | Path) -> Iterator[IO[bytes]]:
    """The decompressed bytes of a file, or of standard input for `-`."""
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
    with file, decompressed(file, path.suffix.lower()) as stream:
        yield stream


def lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines without their line ends; a line over MAX_LINE comes cut just past that size."""
    with open_bytes(path) as stream:
        number = 0
        try:
            while line := stream.readline(MAX_LINE + 1):
                number += 1
                while not line.endswith(b"\n") and len(line) > MAX_LINE:
                    rest = stream.readline(MAX_LINE)  # skipped piece by piece
                    if not rest or rest.endswith(b"\n"):
                        break
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                yield number, line.rstrip(b"\r\n")
        except damage() as error:
            raise InputError(
                f"the file is damaged or cut off: {error}",
                hint="copy it again",
                where=f"{path}:{number + 1}",
            ) from error


def read_small(path: str | Path, *, limit: int = SMALL) -> bytes:
    """All decompressed bytes of a file; one that holds more than `limit` is refused before it fills the memory."""
    return b"".join(_bounded(path, limit))


def check_size(path: str | Path, *, limit: int = SMALL) -> None:
    """Refuse a file of records that are all kept where it holds more than `limit`; a pipe, read once, passes."""
    for _ in _bounded(path, limit) if str(path) != "-" else ():
        pass


def _bounded(path: str | Path, limit: int) -> Iterator[bytes]:
    left = limit
    try:
        with open_bytes(path) as stream:
            while piece := stream.read(min(PIECE, left + 1)):
                left -= len(piece)
                if left < 0:
                    what = f"the file holds more than {limit >> 20} MiB, which no file of its kind does"
                    raise InputError(what, hint="check that it is the right file", where=str(path))
                yield piece
    except damage() as error:
        raise InputError(f"the file is damaged or cut off: {error}", hint="copy it again", where=str(path)) from error


def read_json(path: str | Path, *, hint: str = "copy it again", limit: int = SMALL) -> dict[str, Any]:
    """The one JSON object of a settings file."""
    data = read_small(path, limit=limit)
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        what = f"not valid JSON ({error.msg} at line {error.lineno}, column {error.colno})"
        raise InputError(what, hint=hint, where=str(path)) from error
    if not isinstance(value, dict):
        raise InputError(f"expected a JSON object, got {type(value).__name__}", hint=hint, where=str(path))
    return value


def as_line(value: Any) -> bytes:
    """A JSON value on a line of its own; one that nests too deep to be written is shown in short."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return short_repr(value).encode()


@contextlib.contextmanager
def reading_saved(
    where: str | Path, what: str = "the saved files are damaged", *, hint: str = "copy them again, or make them again"
) -> Iterator[None]:
    """Whatever fails while saved files are opened means that they are damaged, and is said in one line.

    Only for code that takes saved values apart; what runs on them afterwards must not hide its own mistakes here.
    """
    try:
        yield
    except InterloqError:
        raise
    except UNREADABLE as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else one_line(error)
        raise InputError(f"{what}: {why}", hint=hint, where=str(where)) from error


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name only when it is whole; `-` writes to standard output."""
    if str(path) == "-":
        if sys.stdout is None or getattr(sys.stdout, "name", "") == os.devnull:
            raise InputError("standard output is closed", hint="name a file, or open it")
        with writing("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    with whole_file(path) as file, compressed(file, Path(path).suffix.lower()) as stream:
        yield stream


def write_json(path: str | Path, value: Any) -> None:
    """One JSON document, indented."""
    with replacing(path) as file:
        file.write(json_bytes(value))


def json_bytes(value: Any) -> bytes:
    """A value as indented JSON."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

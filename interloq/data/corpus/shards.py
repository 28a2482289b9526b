# SPDX-License-Identifier: Apache-2.0
"""Splitting logs into shards of complete lines, a few megabytes each, at positions that depend only on the files."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from interloq.data.corpus.formats import WHOLE, check_format, guess_format, is_list, names_in, read_piece
from interloq.data.corpus.logs import Piece, Reject
from interloq.data.corpus.logs.named_fields import choose_fields
from interloq.data.corpus.sources import LogSource, naming_damage, open_logs
from interloq.data.corpus.times import iso
from interloq.data.files import opening as files
from interloq.data.files.opening import plain_suffix
from interloq.errors import InputError
from interloq.records import Post

BLOCK = 4 * 2**20
HEAD = 2**18  # bytes read to detect a file's format
MAX_WHOLE = 512 * 2**20
MAX_ROW = 2**20  # no real cell of a table is longer


@dataclass(frozen=True, slots=True)
class Shard:
    """The input that a worker cleans at a time."""

    number: int
    pieces: tuple[Piece, ...]
    read: int  # bytes of the input on disk up to its end
    digest: str  # hash of all content up to its end, to detect changes


@dataclass
class Logs:
    """The inputs of a build: iterate for their shards, which fills `fingerprints` and `passed_over`."""

    inputs: Sequence[str | Path]
    format: str = "auto"
    fields: Mapping[str, str] = field(default_factory=dict)
    block: int = BLOCK
    fingerprints: dict[str, str] = field(default_factory=dict)
    passed_over: list[str] = field(default_factory=list)

    def shards(self) -> Iterator[Shard]:
        """Yield the shards; small files share one."""
        pieces: list[Piece] = []
        number = size = read = 0
        self._finished, self._current = hashlib.sha256(), hashlib.sha256()
        for source in open_logs(self.inputs):
            for piece in self._pieces(source):
                pieces.append(piece)
                size += len(piece.data)
                read = source.tell()
                if 2 * size >= self.block:  # a piece ends at a line end, a little before the end of the block
                    yield Shard(number, tuple(pieces), read, self._digest())
                    pieces, number, size = [], number + 1, 0
        if pieces:
            yield Shard(number, tuple(pieces), read, self._digest())

    def _pieces(self, source: LogSource) -> Iterator[Piece]:
        with naming_damage(source.name):
            head = _first_bytes(source.stream)
        plan = self._plan(source, head)
        if plan is None:
            self.passed_over.append(source.name)
            return
        self._current = hashlib.sha256(plan.links)
        with naming_damage(source.name):
            for piece in _cut(plan, head, source.stream, self.block):
                self._current.update(piece.data)
                yield piece
        self.fingerprints[source.name] = self._current.hexdigest()[:16]
        self._finished.update(self._current.digest())

    def _digest(self) -> str:
        """Return the hash of the finished files and of what was read of the current one."""
        hashed = self._finished.copy()
        hashed.update(self._current.digest())
        return hashed.hexdigest()[:16]

    def _plan(self, source: LogSource, head: bytes) -> Piece | None:
        """Return a piece without data that says how to read the file; None if it has no posts."""
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError("the file is in UTF-16", hint="save it as UTF-8", where=source.name)
        suffix = plain_suffix(source.name)
        format = self.format
        if format == "auto":
            format = guess_format(head, suffix)
            if self.fields and format not in ("", "table"):
                format = "posts"  # no other has named fields
        elif format == "posts" and suffix in (".csv", ".tsv"):
            format = "table"
        if not format:
            if not source.named or not head.strip():
                return None
            hint = "name its format with --format; docs/corpus.md lists them"
            raise InputError("cannot detect the format of this log", hint=hint, where=source.name)
        whole = format in WHOLE or (format != "table" and is_list(head))
        plan = Piece(source.name, format, b"", links=source.links, whole=whole)
        if format == "posts":
            return replace(plan, fields=choose_fields(names_in(head), self.fields, source.name))
        if format == "table":
            return _of_table(plan, head, suffix, self.fields)
        return plan


def read_posts(
    inputs: Sequence[str | Path], *, format: str = "auto", fields: Mapping[str, str] | None = None, reject: Reject
) -> Iterator[Post]:
    """Yield the posts of logs as records, uncleaned; bad lines go to `reject`."""
    for shard in Logs(inputs, check_format(format), fields or {}).shards():
        for piece in shard.pieces:
            for raw in read_piece(piece, reject):
                yield Post(raw.id, raw.user, raw.text, iso(raw.time), raw.reply_to, raw.lang)


def _first_bytes(stream: IO[bytes]) -> bytes:
    """Return the start of a file, or all of a shorter one, read repeatedly because pipes give parts."""
    head = b""
    while len(head) < HEAD and (more := stream.read(HEAD - len(head))):
        head += more
    return head


def _of_table(plan: Piece, head: bytes, suffix: str, fields: Mapping[str, str]) -> Piece:
    delimiter = "\t" if suffix == ".tsv" else ","
    first = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[0].decode("utf-8", "replace").rstrip("\r")
    try:
        columns = [name.strip() for name in next(csv.reader([first], delimiter=delimiter), [])]
    except csv.Error as error:
        what = f"the line of column names is not a valid row: {error}"
        raise InputError(what, hint="end lines with a line feed", where=f"{plan.name}:1") from error
    chosen = choose_fields(columns, fields, f"{plan.name}:1")
    return replace(plan, columns=tuple(columns), delimiter=delimiter, fields=chosen)


def _cut(plan: Piece, head: bytes, stream: IO[bytes], block: int) -> Iterator[Piece]:
    head = head.removeprefix(b"\xef\xbb\xbf")
    if plan.whole:
        data = head + stream.read(MAX_WHOLE + 1)
        if len(data) > MAX_WHOLE:
            hint = "split it, or write it as one post per line"
            raise InputError(f"the file is larger than {MAX_WHOLE >> 20} MiB", hint=hint, where=plan.name)
        yield replace(plan, data=data)
    elif plan.format == "table":
        _, _, rest = head.partition(b"\n")
        if not rest:  # only the line of column names, or one so long that no row follows it here
            rest = stream.read(block)
        yield from _lines(replace(plan, first_line=2), rest, stream, block, _end_of_rows)
    else:
        yield from _lines(plan, head, stream, block, lambda data: data.rfind(b"\n") + 1)


def _lines(plan: Piece, rest: bytes, stream: IO[bytes], block: int, end: Callable[[bytes], int]) -> Iterator[Piece]:
    """Yield pieces of complete lines, about one block each; `end` finds the end of the last complete line in data."""
    number = plan.first_line
    while data := rest + stream.read(max(0, block - len(rest))):
        at = end(data[:block])
        while not at and len(data) <= files.MAX_LINE and (more := stream.read(block)):
            data += more
            at = end(data)
        if not at and len(data) > files.MAX_LINE:
            yield replace(plan, data=data[: files.MAX_LINE], first_line=number, overlong=True)
            rest, number = _after_line(stream), number + 1
            continue
        at = at or len(data)
        yield replace(plan, data=data[:at], first_line=number)
        number += data.count(b"\n", 0, at)
        rest = data[at:]


def _after_line(stream: IO[bytes]) -> bytes:
    """Return the data after the next line end; the rest of the line is skipped in pieces."""
    while more := stream.read(BLOCK):
        at = more.find(b"\n")
        if at >= 0:
            return more[at + 1 :]
    return b""


def _end_of_rows(data: bytes) -> int:
    """Return the end of the last complete row: line ends inside quotes do not count, unless a quote is never closed."""
    at, inside = len(data), data.count(b'"') % 2
    while (end := data.rfind(b"\n", 0, at)) >= 0:
        inside ^= data.count(b'"', end, at) % 2
        if not inside:
            return end + 1
        at = end
    if len(data) > MAX_ROW:
        return data.rfind(b"\n") + 1
    return 0

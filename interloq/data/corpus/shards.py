# SPDX-License-Identifier: Apache-2.0
"""Opening logs, and splitting them into shards of complete lines, at positions that depend only on the files.

Logs are single files, folders, or tar archives that are read without unpacking. Files of a folder or archive without
posts (such as a licence) are skipped; a file named by the user must have posts.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO

from interloq.data.corpus.formats import WHOLE, guess_format, is_list, names_in
from interloq.data.corpus.logs import Piece
from interloq.data.corpus.logs.named_fields import choose_fields
from interloq.data.files import opening as files
from interloq.data.files.archives import is_archive, members, open_archive, read_member
from interloq.data.files.compression import COMPRESSED, damage, decompress
from interloq.data.files.opening import plain_suffix, read_small
from interloq.errors import InputError

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
        with report_damage(source.name):
            head = b""  # read repeatedly, because pipes give parts
            while len(head) < HEAD and (more := source.stream.read(HEAD - len(head))):
                head += more
        plan = self._plan(source, head)
        if plan is None:
            self.passed_over.append(source.name)
            return
        self._current = hashlib.sha256(plan.links)
        with report_damage(source.name):
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
            return _plan_table(plan, head, suffix, self.fields)
        return plan


def _plan_table(plan: Piece, head: bytes, suffix: str, fields: Mapping[str, str]) -> Piece:
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


LOG_SUFFIXES = (".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".txt", ".log", "")
ANNOTATION = ".annotation.txt"
_PASSED_OVER = (ANNOTATION, ".tok.txt", ".rejected.jsonl")
_WINDOW = 2**31  # Reddit's dumps are compressed with the largest window


@dataclass(frozen=True, slots=True)
class LogSource:
    """An open file: `tell` gives the number of bytes of the input on disk that have been read."""

    name: str
    named: bool  # named by the user, not found in a folder or archive
    stream: IO[bytes]
    tell: Callable[[], int]
    links: bytes = b""  # its IRC annotation


def total_size(inputs: Sequence[str | Path]) -> int:
    """Return the bytes on disk; 0 for a pipe."""
    return sum(path.stat().st_size for path in on_disk(inputs))


def on_disk(inputs: Sequence[str | Path]) -> list[Path]:
    """Return the files on disk, including those in folders."""
    files: list[Path] = []
    for log in inputs:
        if str(log) == "-":
            continue
        path = Path(log)
        if not path.exists():
            raise InputError(f"no file or folder {str(path)!r}", hint="check the path")
        if path.is_dir():
            files += _in_folder(path)
        else:
            files.append(path)
    return files


def open_logs(inputs: Sequence[str | Path]) -> Iterator[LogSource]:
    """Yield every file of the inputs, open, one after another."""
    done = 0
    for log in inputs:
        if str(log) == "-":
            yield LogSource("-", True, sys.stdin.buffer, lambda: 0)
            continue
        for path in on_disk([log]):
            if is_archive(path):
                yield from _open_members(path, done)
            else:
                yield from _open_alone(path, done, named=path == Path(log))
            done += path.stat().st_size


@contextlib.contextmanager
def report_damage(name: str) -> Iterator[None]:
    """Name the file in the error if it turns out to be damaged."""
    try:
        yield
    except damage(tarfile.TarError, ValueError) as error:
        raise InputError(f"the file is damaged or truncated: {error}", hint="copy it again", where=name) from error


def _open_alone(path: Path, done: int, *, named: bool) -> Iterator[LogSource]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", hint="check the path") from error
    with file, decompress(file, path.suffix.lower(), window=_WINDOW) as stream:
        beside = path.with_name(_stem(path.name) + ANNOTATION)
        links = b""
        if beside.exists():
            links = read_small(beside)
        yield LogSource(str(path), named, stream, lambda: done + file.tell(), links)


def _open_members(path: Path, done: int) -> Iterator[LogSource]:
    """Yield the regular files of an archive in its order; nothing is unpacked, and links are not followed."""
    with report_damage(str(path)), open_archive(path) as (archive, tell):
        all_members = list(members(archive, path))
        names = {member.name for member in all_members}
        links = {}
        for member in all_members:
            if member.name.endswith(ANNOTATION):
                links[_stem(member.name)] = read_member(archive, member, path)
        for member in all_members:
            if _may_have_posts(member.name, names) and (inner := archive.extractfile(member)) is not None:
                with decompress(inner, Path(member.name).suffix.lower(), window=_WINDOW) as stream:
                    annotation = links.get(_stem(member.name), b"")
                    yield LogSource(f"{path}/{member.name}", False, stream, lambda: done + tell(), annotation)


def _in_folder(folder: Path) -> list[Path]:
    files = []
    for path in sorted(folder.rglob("*")):
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not path.is_symlink() and not is_hidden:
            files.append(path)
    names = {path.as_posix() for path in files}
    logs = [path for path in files if is_archive(path) or _may_have_posts(path.as_posix(), names)]
    if not logs:
        raise InputError(f"no logs in the folder {str(folder)!r}", hint=f"logs end in {' '.join(LOG_SUFFIXES[:-1])}")
    return logs


def _may_have_posts(name: str, names: set[str]) -> bool:
    """Return whether a file of a folder or archive may have posts."""
    base = PurePosixPath(name).name
    if base.startswith(".") or base.endswith(_PASSED_OVER):
        return False
    if base.endswith(".raw.txt") and name.removesuffix(".raw.txt") + ".ascii.txt" in names:
        return False
    return plain_suffix(base) in LOG_SUFFIXES or PurePosixPath(base).suffix.lower() in COMPRESSED


def _stem(name: str) -> str:
    return name.removesuffix(ANNOTATION).removesuffix(".txt").removesuffix(".ascii").removesuffix(".raw")

# SPDX-License-Identifier: Apache-2.0
"""The files of logs: single files, folders, or tar archives that are read without unpacking.

Files of a folder or archive without posts (such as a licence) are skipped; a file named by the user must have posts.
"""

from __future__ import annotations

import contextlib
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from interloq.data.archives import is_archive, members, opened_archive, small_member
from interloq.data.compression import COMPRESSED, damage, decompressed
from interloq.data.files import plain_suffix, read_small
from interloq.errors import InputError

SUFFIXES = (".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".txt", ".log", "")
ANNOTATION = ".annotation.txt"
_PASSED_OVER = (ANNOTATION, ".tok.txt", ".rejected.jsonl")
_WINDOW = 2**31  # Reddit's dumps are compressed with the largest window


@dataclass(frozen=True, slots=True)
class Source:
    """An open file: `tell` gives the number of bytes of the input on disk that have been read."""

    name: str
    named: bool  # named by the user, not found in a folder or archive
    stream: IO[bytes]
    tell: Callable[[], int]
    links: bytes = b""  # its IRC annotation


def total_size(inputs: Sequence[str | Path]) -> int:
    """Bytes on disk; 0 for a pipe."""
    return sum(path.stat().st_size for path in on_disk(inputs))


def on_disk(inputs: Sequence[str | Path]) -> list[Path]:
    """The files on disk, including those in folders."""
    found: list[Path] = []
    for given in inputs:
        if str(given) == "-":
            continue
        path = Path(given)
        if not path.exists():
            raise InputError(f"no file or folder {str(path)!r}", hint="check the path")
        found += _in_folder(path) if path.is_dir() else [path]
    return found


def opened(inputs: Sequence[str | Path]) -> Iterator[Source]:
    """Every file of the inputs, open, one after another."""
    done = 0
    for given in inputs:
        if str(given) == "-":
            yield Source("-", True, sys.stdin.buffer, lambda: 0)
            continue
        for path in on_disk([given]):
            yield from _members(path, done) if is_archive(path) else _alone(path, done, named=path == Path(given))
            done += path.stat().st_size


@contextlib.contextmanager
def damage_named(name: str) -> Iterator[None]:
    """Name the file if it turns out to be damaged."""
    try:
        yield
    except damage(tarfile.TarError, ValueError) as error:
        raise InputError(f"the file is damaged or truncated: {error}", hint="copy it again", where=name) from error


def _alone(path: Path, done: int, *, named: bool) -> Iterator[Source]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", hint="check the path") from error
    with file, decompressed(file, path.suffix.lower(), window=_WINDOW) as stream:
        beside = path.with_name(_stem(path.name) + ANNOTATION)
        links = read_small(beside) if beside.exists() else b""
        yield Source(str(path), named, stream, lambda: done + file.tell(), links)


def _members(path: Path, done: int) -> Iterator[Source]:
    """The regular files of an archive in its order; nothing is unpacked, and links are not followed."""
    with damage_named(str(path)), opened_archive(path) as (archive, tell):
        found = list(members(archive, path))
        links = {_stem(m.name): small_member(archive, m, path) for m in found if m.name.endswith(ANNOTATION)}
        names = {member.name for member in found}
        for member in found:
            inner = archive.extractfile(member) if _wanted(member.name, names) else None
            if inner is not None:
                with decompressed(inner, Path(member.name).suffix.lower(), window=_WINDOW) as stream:
                    annotation = links.get(_stem(member.name), b"")
                    yield Source(f"{path}/{member.name}", False, stream, lambda: done + tell(), annotation)


def _in_folder(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    files = [path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    names = {path.as_posix() for path in files}
    found = [path for path in files if is_archive(path) or _wanted(path.as_posix(), names)]
    if not found:
        raise InputError(f"no logs in the folder {str(folder)!r}", hint=f"logs end in {' '.join(SUFFIXES[:-1])}")
    return found


def _wanted(name: str, names: set[str]) -> bool:
    """Whether a file of a folder or archive may have posts."""
    base = PurePosixPath(name).name
    if base.startswith(".") or base.endswith(_PASSED_OVER):
        return False
    if base.endswith(".raw.txt") and name.removesuffix(".raw.txt") + ".ascii.txt" in names:
        return False
    return plain_suffix(base) in SUFFIXES or PurePosixPath(base).suffix.lower() in COMPRESSED


def _stem(name: str) -> str:
    return name.removesuffix(ANNOTATION).removesuffix(".txt").removesuffix(".ascii").removesuffix(".raw")

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

from interloq.data.files.archives import is_archive, members, open_archive, read_member
from interloq.data.files.compression import COMPRESSED, damage, decompress
from interloq.data.files.opening import plain_suffix, read_small
from interloq.errors import InputError

SUFFIXES = (".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".txt", ".log", "")
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
def naming_damage(name: str) -> Iterator[None]:
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
    with naming_damage(str(path)), open_archive(path) as (archive, tell):
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
        raise InputError(f"no logs in the folder {str(folder)!r}", hint=f"logs end in {' '.join(SUFFIXES[:-1])}")
    return logs


def _may_have_posts(name: str, names: set[str]) -> bool:
    """Return whether a file of a folder or archive may have posts."""
    base = PurePosixPath(name).name
    if base.startswith(".") or base.endswith(_PASSED_OVER):
        return False
    if base.endswith(".raw.txt") and name.removesuffix(".raw.txt") + ".ascii.txt" in names:
        return False
    return plain_suffix(base) in SUFFIXES or PurePosixPath(base).suffix.lower() in COMPRESSED


def _stem(name: str) -> str:
    return name.removesuffix(ANNOTATION).removesuffix(".txt").removesuffix(".ascii").removesuffix(".raw")

# SPDX-License-Identifier: Apache-2.0
"""Atomic writes of files and folders, and locks that allow one writer at a time.

Unfinished output is named `.NAME.<12 hex digits>.part`, next to its target, and its writer holds a lock on it. The lock
ends with the process, even a killed one, so the next writer of the same target can distinguish a leftover from a file
that is still being written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from interloq.data.files.folders import PART, is_stray
from interloq.data.files.write_errors import writing
from interloq.errors import InputError

PRIVATE = 0o600  # mode of files that only their owner may read


@contextlib.contextmanager
def atomic_file(path: str | Path, *, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Yield a file that gets its name only when it is complete and on disk; devices and pipes are written directly.

    `mode` is limited by the umask, as usual; use `PRIVATE` for personal data.
    """
    path = Path(path)
    with writing(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if is_device(path):
            with path.open("wb") as file:
                yield file
            return
        with _part_of(path, lambda part: os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)) as (part, handle):
            with os.fdopen(handle, "wb", closefd=False) as file:
                yield file
                file.flush()
                os.fsync(handle)
            part.replace(path)


@contextlib.contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """Yield a folder that gets its name only when it is complete; it may replace an empty folder."""
    path = Path(path)
    with writing(path), _part_of(path, _new_folder) as (part, _):
        yield part
        for place, _, files in os.walk(part):  # a power failure must not leave it incomplete under its name
            for name in files:
                with Path(place, name).open("rb") as file:
                    os.fsync(file.fileno())
        for stray in path.iterdir() if path.is_dir() else ():
            if is_stray(stray.name):
                stray.rename(part / stray.name)
        part.rename(path)


@contextlib.contextmanager
def atomic_path(path: str | Path, *also: type[Exception], mode: int = 0o666) -> Iterator[Path]:
    """Yield a path for libraries that write to a path; other files that they write next to it are removed.

    `mode` is limited by the umask, as usual; use `PRIVATE` for personal data.
    """
    path = Path(path)
    with writing(path, *also), _part_of(path, lambda part: _new_folder(part, 0o700)) as (part, _):
        yield part / path.name
        mask = os.umask(0)
        os.umask(mask)
        (part / path.name).chmod(mode & ~mask)  # some libraries make it unreadable for others
        (part / path.name).replace(path)
        remove(part)


def make_folder(folder: Path) -> None:
    """Create the folder and its parents if they do not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None


def write_atomically(path: str | Path, data: bytes) -> None:
    """Write a file atomically."""
    with atomic_file(path) as file:
        file.write(data)


@contextlib.contextmanager
def _part_of(path: Path, make: Callable[[Path], int]) -> Iterator[tuple[Path, int]]:
    """Yield a new, locked part for a target; removed at the end unless it was renamed."""
    if path.name in ("", ".."):
        raise InputError(f"cannot write {str(path)!r}: it has no name of its own", hint="name a new file or folder")
    make_folder(path.parent)
    sweep(path)
    while True:
        part = _part_name(path)
        handle = make(part)
        if hold(handle) and part.exists():  # else another process removed it as a leftover
            break
        os.close(handle)
    try:
        yield part, handle
    finally:
        with contextlib.suppress(OSError):
            remove(part)
        os.close(handle)


def _part_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")


def _new_folder(part: Path, mode: int = 0o777) -> int:
    while True:
        part.mkdir(mode)
        with contextlib.suppress(FileNotFoundError):  # another process removed it as a leftover before it was locked
            return os.open(part, os.O_RDONLY)


def is_device(path: Path) -> bool:
    """Return whether a path is written directly, as a device, a pipe, or a name such as /dev/stdout.

    Such a name may lead to a file. Folders below /dev, such as /dev/shm, hold ordinary files; /dev/fd leads to /proc.
    """
    folder = path.absolute().parent.resolve()
    is_stream = folder == Path("/dev") or folder.parts[1:2] == ("proc",)
    return is_stream or (path.exists() and not path.is_file() and not path.is_dir())


def sweep(path: Path) -> None:
    """Remove parts of this target left by dead processes."""
    with os.scandir(path.parent) as entries:
        parts = [Path(entry) for entry in entries if (m := PART.fullmatch(entry.name)) and m[1] == path.name]
    for part in parts:
        with contextlib.suppress(OSError):
            _remove_dead(part)


def sweep_all(folder: Path) -> None:
    """Remove all parts in a folder and its subfolders left by dead processes."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if PART.fullmatch(name):
                with contextlib.suppress(OSError):
                    _remove_dead(Path(place, name))


def _remove_dead(part: Path) -> None:
    handle = os.open(part, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        if hold(handle, unknown=False):
            remove(part)
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    """Remove a file, a folder with its content, or a link but not its target."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def discard(folder: Path) -> None:
    """Remove a folder or file atomically: if the process is killed, it is either complete or gone."""
    if folder.parent.is_dir():
        sweep(folder)
    if os.path.lexists(folder):
        part = _part_name(folder)
        folder.rename(part)
        remove(part)


def hold(handle: int, *, unknown: bool = True) -> bool:
    """Lock an open file until it is closed or the process ends; return `unknown` if locks are not supported."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return unknown
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # not on some network disks
        return unknown
    return True


@contextlib.contextmanager
def hold_lock(path: Path, *, where: Path | None = None) -> Iterator[None]:
    """Let only one process at a time work in a folder (`where`, default the file's), with a lock on the file `path`."""
    while True:
        with writing(path):
            file = path.open("a")
        lock(file, where or path.parent)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                break
        file.close()  # it was removed with its folder before it was locked
    with file:
        yield


def lock(file: IO[Any], where: Path) -> None:
    """Lock an open file, or raise an error if another process has locked it."""
    if not hold(file.fileno()):
        file.close()
        raise InputError("another process is writing here", hint="wait until it has finished", where=str(where))

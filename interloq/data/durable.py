"""How anything gets to disk: whole or not at all, by one writer at a time, inside its folder, with errors that say why.

What is being written has the name `.NAME.<12 hex digits>.part` beside its target, and its writer holds a lock on it.
The lock ends with the process, however that ends, so the next writer of the same target can tell a leftover from a file
that is still being written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from interloq.errors import InputError

STRAYS = {".ds_store", "thumbs.db", "desktop.ini", ".directory", ".localized"}  # put anywhere by file browsers
PART = re.compile(r"\.(.+)\.[0-9a-f]{12}\.part")
HEADER = b'{"kind":'
LONGEST = 160  # characters of a library's message
SYNC = 5.0  # seconds between waits for the disk
HINTS = {
    errno.ENOSPC: "free some space and run the command again",
    errno.EDQUOT: "free some of your quota and run the command again",
    errno.EFBIG: "write to a disk without that limit (see `ulimit -f`)",
    errno.EACCES: "choose a place that you may write to",
    errno.EPERM: "choose a place that you may write to",
    errno.EROFS: "choose a place that you may write to",
    errno.EIO: "check the disk",
    errno.EMFILE: "raise the limit on open files (see `ulimit -n`)",
    errno.EXDEV: "choose an output on a single disk",
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST), "choose another output"),
    **dict.fromkeys((errno.ENOTEMPTY, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL), "choose another output"),
}

# ---- errors ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def writing(path: str | Path, *also: type[Exception]) -> Iterator[None]:
    """Turn errors of the file system into one line about this output; `also` are a library's own."""
    try:
        yield
    except also as error:
        raise InputError(f"cannot write {path}: {one_line(error)}", cure=hint(error)) from error
    except OSError as error:
        if not is_of_files(error):
            raise
        raise InputError(f"cannot write {path}: {one_line(error)}", cure=hint(error)) from error


def is_of_files(error: OSError) -> bool:
    """Whether this is about a file, and not about a network or a program; numpy's writers give no number."""
    return error.errno in HINTS or (error.errno is None and type(error) is OSError)


def one_line(error: Exception) -> str:
    text = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def hint(error: Exception) -> str:
    """Libraries in other languages give the number only in words; the likeliest reason is a full disk."""
    if getattr(error, "errno", None) in HINTS:
        return HINTS[error.errno]  # type: ignore[attr-defined]
    return next((cure for number, cure in HINTS.items() if os.strerror(number) in str(error)), HINTS[errno.ENOSPC])


# ---- whole or not at all ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[IO[bytes]]:
    """A file that gets its name when it is whole and on disk; a device or a pipe is written to as it is."""
    path = Path(path)
    with writing(path):
        if _is_device(path):
            with path.open("wb") as file:
                yield file
            return
        with _part_of(path, lambda part: os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)) as (part, handle):
            with os.fdopen(handle, "wb", closefd=False) as file:
                yield file
                file.flush()
                os.fsync(handle)
            part.replace(path)


@contextlib.contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """A folder that gets its name when it is whole; an empty one that has the name already gives way."""
    path = Path(path)
    with writing(path), _part_of(path, _new_folder) as (part, _):
        yield part
        _sync(part)
        for stray in path.iterdir() if path.is_dir() else ():
            if is_stray(stray.name):
                stray.rename(part / stray.name)
        part.rename(path)


@contextlib.contextmanager
def whole_file_by_name(path: str | Path, *also: type[Exception]) -> Iterator[Path]:
    """For libraries that write to a name: it may leave what it likes beside it; only the file itself is kept."""
    path = Path(path)
    with writing(path, *also), _part_of(path, _new_folder) as (part, _):
        yield part / path.name
        (part / path.name).chmod(0o666 & ~_umask())  # some libraries let nobody else read
        (part / path.name).replace(path)
        remove(part)


def make_folder(folder: Path) -> None:
    """With all folders above it, unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None


def _sync(folder: Path) -> None:
    """Wait until all in a folder is on disk: a power cut must not leave it half-filled under its name."""
    for place, _, files in os.walk(folder):
        for name in files:
            with Path(place, name).open("rb") as file:
                os.fsync(file.fileno())


def write_whole(path: str | Path, data: bytes) -> None:
    with whole_file(path) as file:
        file.write(data)


@contextlib.contextmanager
def _part_of(path: Path, make: Callable[[Path], int]) -> Iterator[tuple[Path, int]]:
    """A new part of a target, locked; gone at the end, unless it was given another name."""
    make_folder(path.parent)
    sweep(path)
    part, handle = _claimed(path, make)
    try:
        yield part, handle
    finally:
        with contextlib.suppress(OSError):
            remove(part)
        os.close(handle)


def _claimed(path: Path, make: Callable[[Path], int]) -> tuple[Path, int]:
    while True:
        part = _part_name(path)
        handle = make(part)
        if hold(handle) and part.exists():  # else somebody who was sweeping took it for a leftover
            return part, handle
        os.close(handle)


def _part_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")


def _new_folder(part: Path) -> int:
    part.mkdir()
    return os.open(part, os.O_RDONLY)


def _is_device(path: Path) -> bool:
    special = path.absolute().parts[1:2] in (("dev",), ("proc",))
    return special or (path.exists() and not path.is_file() and not path.is_dir())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# ---- leftovers and strays --------------------------------------------------------------------------------------------


def sweep(path: Path) -> None:
    """Remove the parts of this target whose writers are dead."""
    with os.scandir(path.parent) as entries:
        parts = [Path(entry) for entry in entries if (m := PART.fullmatch(entry.name)) and m[1] == path.name]
    for part in parts:
        with contextlib.suppress(OSError):
            _remove_dead(part)


def sweep_all(folder: Path) -> None:
    """Remove all parts in a folder and below it whose writers are dead."""
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
    """Remove a file, a folder with all that is in it, or a link but not what is behind it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def discard(folder: Path) -> None:
    """Remove a folder in one step, so that a kill leaves all of it or nothing that has its name."""
    if folder.parent.is_dir():
        sweep(folder)
    if os.path.lexists(folder):
        part = _part_name(folder)
        folder.rename(part)
        remove(part)


def is_stray(name: str) -> bool:
    """Whether file browsers and network disks put a file with such a name into any folder."""
    return name.lower() in STRAYS or name.startswith(("._", ".nfs"))


def contents(folder: Path) -> list[Path]:
    """What is in a folder in order of name, without strays and parts; nothing where there is no folder."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if not (is_stray(path.name) or PART.fullmatch(path.name)))


def matching(folder: Path, pattern: str) -> list[Path]:
    """The files of a pattern in order of name, without the strays (`._model.safetensors`) that look like them."""
    return sorted(path for path in folder.glob(pattern) if not is_stray(path.name))


def is_free(folder: Path, *own: str) -> bool:
    """Whether a folder is absent or holds nothing; nothing is also an empty file or folder with one of these names."""
    if not folder.is_dir():
        return not os.path.lexists(folder)
    return all(path.name in own and not path.is_symlink() and _is_empty(path) for path in contents(folder))


def _is_empty(path: Path) -> bool:
    return is_free(path) if path.is_dir() else path.stat().st_size == 0


# ---- inside a folder -------------------------------------------------------------------------------------------------


def inside(folder: Path, *names: str) -> Path:
    """`folder/names…` where each name is a plain one and no link leads elsewhere: for names that come from a file."""
    for name in names:
        if not isinstance(name, str) or name in ("", ".", "..") or re.search(r"[/\\\0]", name):
            raise InputError(f"{name!r} is not the name of a file in the folder", cure=COPY, where=str(folder))
    path = folder.joinpath(*names)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise _leads_outside(path, folder)
    return path


def confined(folder: Path) -> None:
    """Refuse a folder of ours in which a link leads outside, before anything in it is read, written or removed."""
    root = folder.resolve()
    for place, folders, files in os.walk(root):
        for path in (Path(place, name) for name in (*folders, *files)):
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                raise _leads_outside(folder / path.relative_to(root), folder)


def _leads_outside(path: Path, folder: Path) -> InputError:
    return InputError(f"{path} is a link to a place outside {folder}", cure=COPY)


COPY = "nothing outside the folder is touched; make the folder again"

# ---- one writer at a time --------------------------------------------------------------------------------------------


def hold(handle: int, *, unknown: bool = True) -> bool:
    """Lock an open file until it is closed or the process ends; `unknown` is the answer where there are no locks."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return unknown
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network disks have none
        return unknown
    return True


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Only one process at a time in a folder: `path` is the file that stands for it."""
    with writing(path):
        file = path.open("a")
    with file:
        _lock(file, path.parent)
        yield


def _lock(file: IO[Any], where: Path) -> None:
    if not hold(file.fileno()):
        file.close()
        raise InputError("another process is writing here", cure="wait until it has finished", where=str(where))


class Appended:
    """A file that is only added to, by one process at a time.

    What is added is handed to the system at once, so a kill loses nothing, and the disk is waited for every `sync`
    seconds, so a power cut loses no more than these.
    """

    def __init__(self, path: str | Path, *, sync: float = SYNC) -> None:
        self.path, self.sync, self._last = Path(path), sync, time.monotonic()
        with writing(self.path):
            make_folder(self.path.parent)
            self._file = self.path.open("a+b")
        _lock(self._file, self.path)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Each whole line and its place; at the end, the half line that a kill or a full disk left is cut off."""
        place = 0
        self._file.seek(0)
        for line in self._file:
            if not line.endswith(b"\n"):
                self._check_ours(place, line)
                break
            yield place, line
            place += len(line)
        self.cut(place)

    def _check_ours(self, place: int, line: bytes) -> None:
        """A half line alone in a file is cut off only where it is the start of a header."""
        if not place and line[: len(HEADER)] != HEADER[: len(line)]:
            self.close()
            raise InputError("not a file that Interloq began", cure="choose another output", where=str(self.path))

    def line(self, place: int) -> bytes:
        self._file.seek(place)
        return self._file.readline()

    @property
    def closed(self) -> bool:
        return self._file.closed

    def size(self) -> int:
        return self._file.seek(0, os.SEEK_END)

    def cut(self, size: int) -> None:
        with writing(self.path):
            self._file.truncate(size)

    def add(self, data: bytes) -> int:
        """Returns where it begins. What cannot be written whole is not written at all."""
        place = self.size()
        try:
            with writing(self.path):
                self._file.write(data)
                self._file.flush()
                if time.monotonic() - self._last >= self.sync:
                    os.fsync(self._file.fileno())
                    self._last = time.monotonic()
        except InputError:
            self._forget(place)
            raise
        return place

    def close(self, *, keep: bool = True) -> None:
        if self._file.closed:
            return
        if not keep:
            self.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # a full disk: what is written is written
            os.fsync(self._file.fileno())
        with contextlib.suppress(OSError):
            self._file.close()

    def _forget(self, place: int) -> None:
        """The bytes that the failed write left behind, here and on disk, must not come before the next ones."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            os.truncate(self.path, place)

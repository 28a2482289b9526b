"""The files that logs come in: named one by one, a folder, or a tar archive that is read in place.

Files of a folder or an archive that hold no posts (a licence, say) are passed over; a file named alone must hold some.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from interloq.data.archives import MAX_FILE, is_archive
from interloq.data.files import COMPRESSED, plain_suffix
from interloq.errors import InputError

SUFFIXES = (".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".txt", ".log", "")
ANNOTATION = ".annotation.txt"
_PASSED_OVER = (ANNOTATION, ".tok.txt", ".rejected.jsonl")
_WINDOW = 2**31  # Reddit's dumps are packed with the largest window there is
_STEP = 2**11  # bytes unpacked at a time: a few of them may stand for a hundred kilobytes


@dataclass(frozen=True, slots=True)
class Source:
    """An open file: `tell` says how many bytes of the input on disk have been read."""

    name: str
    named: bool  # by the user, and not found in a folder or an archive
    stream: IO[bytes]
    tell: Callable[[], int]
    links: bytes = b""  # the IRC annotation that belongs to it


def total_size(inputs: Sequence[str | Path]) -> int:
    """Bytes on disk; 0 for a pipe."""
    return sum(path.stat().st_size for path in on_disk(inputs))


def on_disk(inputs: Sequence[str | Path]) -> list[Path]:
    """The files on disk, folders looked through."""
    found: list[Path] = []
    for given in inputs:
        if str(given) == "-":
            continue
        path = Path(given)
        if not path.exists():
            raise InputError(f"no file or folder {str(path)!r}", cure="check the path")
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
    """Says in which file it was when a compressed file turns out to be broken."""
    zstandard = sys.modules.get("zstandard")
    broken: tuple[type[Exception], ...] = (EOFError, OSError, lzma.LZMAError, zlib.error, tarfile.TarError)
    if zstandard:
        broken += (zstandard.ZstdError,)
    try:
        yield
    except broken as error:
        raise InputError(f"the file is damaged or cut off: {error}", cure="copy it again", where=name) from error


def _alone(path: Path, done: int, *, named: bool) -> Iterator[Source]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", cure="check the path") from error
    with file, _decompressed(file, path.suffix.lower()) as stream:
        beside = path.with_name(_stem(path.name) + ANNOTATION)
        links = beside.read_bytes() if beside.exists() else b""
        yield Source(str(path), named, stream, lambda: done + file.tell(), links)


def _members(path: Path, done: int) -> Iterator[Source]:
    """The regular files of an archive in its own order; nothing is unpacked, and links are not followed."""
    with damage_named(str(path)), path.open("rb") as file, tarfile.open(fileobj=file) as archive:
        links = {
            _stem(member.name): _content(archive, member) for member in archive if member.name.endswith(ANNOTATION)
        }
        names = set(archive.getnames())
        for member in archive:
            inner = archive.extractfile(member) if member.isreg() and _wanted(member.name, names) else None
            if inner is not None:
                with _decompressed(inner, Path(member.name).suffix.lower()) as stream:
                    annotation = links.get(_stem(member.name), b"")
                    yield Source(f"{path}/{member.name}", False, stream, lambda: done + file.tell(), annotation)


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    inner = archive.extractfile(member) if member.isreg() and member.size <= MAX_FILE else None
    return inner.read() if inner else b""


def _in_folder(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    files = [path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    names = {path.as_posix() for path in files}
    found = [path for path in files if is_archive(path) or _wanted(path.as_posix(), names)]
    if not found:
        raise InputError(f"no logs in the folder {str(folder)!r}", cure=f"logs end in {' '.join(SUFFIXES[:-1])}")
    return found


def _wanted(name: str, names: set[str]) -> bool:
    """Whether a file of a folder or archive may hold posts."""
    base = PurePosixPath(name).name
    if base.startswith(".") or base.endswith(_PASSED_OVER):
        return False
    if base.endswith(".raw.txt") and name.removesuffix(".raw.txt") + ".ascii.txt" in names:
        return False
    return plain_suffix(base) in SUFFIXES or PurePosixPath(base).suffix.lower() in COMPRESSED


def _stem(name: str) -> str:
    return name.removesuffix(ANNOTATION).removesuffix(".txt").removesuffix(".ascii").removesuffix(".raw")


def _decompressed(file: IO[bytes], suffix: str) -> contextlib.AbstractContextManager[Any]:
    if suffix == ".gz":
        return gzip.open(file)
    if suffix == ".xz":
        return lzma.open(file)
    if suffix == ".zst":
        return io.BufferedReader(_Frames(file), 2**17)
    return contextlib.nullcontext(file)


class _Frames(io.RawIOBase):
    """The frames of a .zst file, one after another; zstandard's own reader does not notice when the last is cut off."""

    def __init__(self, file: IO[bytes]) -> None:
        import zstandard

        self._file, self._frame, self._ready = file, None, memoryview(b"")
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)

    _frame: Any

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = (self._frame.unused_data if self._frame and self._frame.eof else b"") or self._file.read(_STEP)
            if not data:
                if self._frame and not self._frame.eof:
                    raise EOFError("the last frame has no end")
                return 0
            if self._frame is None or self._frame.eof:
                self._frame = self._decompressor.decompressobj()
            self._ready = memoryview(self._frame.decompress(data))
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

# SPDX-License-Identifier: Apache-2.0
"""Compressed streams by file suffix: .gz, .xz and .zst."""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from typing import IO, Any

from interloq.errors import InputError

COMPRESSED = (".gz", ".xz", ".zst")
WINDOW = 2**27  # the limit of the zstd program
RATIO, FREE = 1_000, 2**25  # a file may expand this many times, and always to this many bytes
_STEP = 2**11  # bytes decompressed at a time: a few may expand to many megabytes


def decompress(file: IO[bytes], suffix: str, *, window: int = WINDOW) -> contextlib.AbstractContextManager[Any]:
    """Return the decompressed stream of a file; `window` limits the memory that a .zst file may require."""
    if suffix == ".gz":
        return gzip.open(file)
    if suffix == ".xz":
        return lzma.open(file)
    if suffix == ".zst":
        return io.BufferedReader(_Frames(file, window), 2**17)
    return contextlib.nullcontext(file)


@contextlib.contextmanager
def decompress_records(file: IO[bytes], suffix: str) -> Iterator[Any]:
    """Yield the decompressed stream of a file of records, which is read from start to end.

    If it expands far more than records do, reading ends with an error: a few kilobytes could mean hours of work.
    """
    if suffix not in COMPRESSED:
        yield file
        return
    source: Any = _Counted(file)
    with decompress(source, suffix) as stream:
        yield io.BufferedReader(_Bounded(stream, source), 2**17)


def compress(file: IO[bytes], suffix: str) -> contextlib.AbstractContextManager[Any]:
    """Return a stream that compresses as the suffix says."""
    if suffix == ".gz":  # no time stamp, so that the same records give the same bytes
        return gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0)
    if suffix == ".xz":
        return lzma.open(file, "wb")
    if suffix == ".zst":
        import zstandard

        return zstandard.ZstdCompressor().stream_writer(file, closefd=False)
    return contextlib.nullcontext(file)


def damage(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the errors of reading a broken file, and `more`; zstandard's error only if it is loaded."""
    errors: tuple[type[Exception], ...] = (EOFError, OSError, lzma.LZMAError, zlib.error, *more)
    if zstandard := sys.modules.get("zstandard"):
        errors += (zstandard.ZstdError,)
    return errors


class _Counted:
    """A file that counts the bytes read from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.size = file, 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.size += len(data)
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Bounded(io.RawIOBase):
    """A decompressed stream that ends with an error if it is far larger than its compressed form."""

    def __init__(self, stream: Any, source: _Counted) -> None:
        self._stream, self._source, self._size = stream, source, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size: int = self._stream.readinto(buffer)
        self._size += size
        if self._size > max(FREE, RATIO * self._source.size):
            what = f"{self._source.size:,} bytes expand to more than {self._size:,}, as no file of records does"
            raise InputError(what, hint="if it is right, decompress it first", where=getattr(self._source, "name", ""))
        return size


class _Frames(io.RawIOBase):
    """The frames of a .zst file in turn; zstandard's own reader does not notice a truncated last frame."""

    def __init__(self, file: IO[bytes], window: int) -> None:
        import zstandard

        self._file, self._frame, self._ready = file, None, memoryview(b"")
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=window)

    _frame: Any

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = b""
            if self._frame and self._frame.eof:
                data = self._frame.unused_data
            data = data or self._file.read(_STEP)
            if not data:
                if self._frame and not self._frame.eof:
                    raise EOFError("the last frame is incomplete")
                return 0
            if self._frame is None or self._frame.eof:
                self._frame = self._decompressor.decompressobj()
            self._ready = memoryview(self._frame.decompress(data))
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

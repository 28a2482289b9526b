"""Files that are only added to, and resume after their last whole line."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from interloq.data.durable import lock, make_folder
from interloq.data.write_errors import writing
from interloq.errors import InputError

HEADER = b'{"kind":'
SYNC = 5.0  # seconds between waits for the disk


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
        lock(self._file, self.path)

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
            raise InputError("not a file that Interloq began", hint="choose another output", where=str(self.path))

    def line(self, place: int) -> bytes:
        """The line that starts at this place."""
        self._file.seek(place)
        return self._file.readline()

    @property
    def closed(self) -> bool:
        """Whether nothing more can be appended."""
        return self._file.closed

    def size(self) -> int:
        return self._file.seek(0, os.SEEK_END)

    def cut(self, size: int) -> None:
        """Drop everything behind this size."""
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
        """Close the file, and remove it unless it is to be kept."""
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

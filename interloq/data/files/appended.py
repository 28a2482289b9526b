# SPDX-License-Identifier: Apache-2.0
"""Append-only files that resume after their last complete line."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from interloq.data.files.durable import lock, make_folder
from interloq.data.files.opening import as_line
from interloq.data.files.write_errors import writing
from interloq.data.records.jsonl import header_line
from interloq.errors import InputError

HEADER = b'{"kind":'
SYNC = 5.0  # seconds between fsyncs


class Appended:
    """An append-only file, for one process at a time.

    Data is passed to the system at once, so nothing is lost if the process is killed, and synced to disk every `sync`
    seconds, so a power failure loses at most the data of that time.
    """

    def __init__(self, path: str | Path, *, sync: float = SYNC) -> None:
        self.path, self.sync, self._last = Path(path), sync, time.monotonic()
        with writing(self.path):
            make_folder(self.path.parent)
            self._file = self.path.open("a+b")
        lock(self._file, self.path)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield each complete line and its position; an incomplete line at the end is then removed."""
        place = 0
        self._file.seek(0)
        for line in self._file:
            if not line.endswith(b"\n"):
                if not place and line[: len(HEADER)] != HEADER[: len(line)]:  # the whole file is not a header's start
                    self.close()
                    what = "not an unfinished file of Interloq"
                    raise InputError(what, hint="choose another output", where=str(self.path))
                break
            yield place, line
            place += len(line)
        self.cut(place)

    def resume(self, kind: str, run: Mapping[str, Any]) -> Iterator[tuple[int, bytes]]:
        """Yield lines after the header, with their positions; the header must name this run. An empty file gets one."""
        lines = self.lines()
        if first := next(lines, None):
            check_run(_read_run(first[1], kind, self.path), run, self.path)
            yield from lines
        else:
            self.add(header_line(kind, {"run": run}))

    def line(self, place: int) -> bytes:
        """Return the line that starts at this position."""
        self._file.seek(place)
        return self._file.readline()

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file.closed

    def size(self) -> int:
        return self._file.seek(0, os.SEEK_END)

    def cut(self, size: int) -> None:
        """Truncate the file to this size."""
        with writing(self.path):
            self._file.truncate(size)

    def add(self, data: bytes) -> int:
        """Append data completely or not at all, and return its position."""
        place = self.size()
        try:
            with writing(self.path):
                self._file.write(data)
                self._file.flush()
                if time.monotonic() - self._last >= self.sync:
                    os.fsync(self._file.fileno())
                    self._last = time.monotonic()
        except InputError:
            with contextlib.suppress(OSError):
                self._file.close()
            with contextlib.suppress(OSError):
                os.truncate(self.path, place)  # removes what was written of the data
            raise
        return place

    def close(self, *, keep: bool = True) -> None:
        """Close the file, and remove it unless `keep`."""
        if self._file.closed:
            return
        if not keep:
            self.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the disk is full: keep what was written
            os.fsync(self._file.fileno())
        with contextlib.suppress(OSError):
            self._file.close()


def _read_run(line: bytes, kind: str, path: Path) -> dict[str, Any]:
    """Return the run in the header of a file."""
    try:
        head = orjson.loads(line)
        if head["kind"] == kind:
            return dict(head["run"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        pass
    raise InputError(f"not a record of {kind}", hint="name another file", where=str(path))


def check_run(
    earlier: Mapping[str, Any],
    run: Mapping[str, Any],
    path: Path,
    *,
    what: str = "the file is from another run",
    hint: str = "choose another output, or move that file away",
) -> None:
    """Refuse a file of another run."""
    for name in sorted({*earlier, *run}):
        if earlier.get(name) != run.get(name):
            difference = f"{name} was {_shorten(earlier.get(name))}, is {_shorten(run.get(name))}"
            raise InputError(f"{what}: {difference}", hint=hint, where=str(path))


def _shorten(value: Any) -> str:
    text = as_line(value).decode()
    if len(text) <= 300:
        return text
    return text[:299] + "…"

# SPDX-License-Identifier: Apache-2.0
"""Caches on disk: the folder for them, and bytes by key in one table of an SQLite file, never a pickle.

They hold results that can be computed again, and server answers that would have to be paid for again. Several processes
may share a file; it may be deleted at any time.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from interloq.data.files.durable import PRIVATE
from interloq.errors import InputError

FEW = 500  # keys looked up at a time: SQLite limits the variables of a query
WAIT = 60.0  # seconds to wait for another process that writes


@dataclass(frozen=True)
class BlobCache:
    """Bytes by key; `kind` names what is stored, such as `vector`."""

    path: Path
    kind: str

    @property
    def table(self) -> str:
        """Name of the table: the plural of the kind."""
        return f"{self.kind}s"

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values of the keys that are in the cache."""
        values: dict[bytes, bytes] = {}
        with self._open() as database:
            for start in range(0, len(keys), FEW):
                part = keys[start : start + FEW]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, row FROM {self.table} WHERE key IN ({marks})"  # noqa: S608
                values.update(database.execute(query, part))
        return values

    def put(self, rows: Sequence[tuple[bytes, bytes]], *, most: int | None = None) -> None:
        """Add keys with their values, or replace the values of known keys.

        Half of what a file with more than `most` bytes holds is forgotten first.
        """
        with self._open() as database, database:
            if most is not None and _count_bytes(database) > most:
                database.execute(f"DELETE FROM {self.table} WHERE random() < 0")  # noqa: S608
            database.executemany(f"INSERT OR REPLACE INTO {self.table} VALUES (?, ?)", rows)  # noqa: S608

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch(mode=PRIVATE)  # it may hold prompts; the files that SQLite adds get the same mode
            with closing(sqlite3.connect(self.path, timeout=WAIT)) as database:
                columns = "(key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID"
                database.execute(f"CREATE TABLE IF NOT EXISTS {self.table} {columns}")
                yield database
        except (sqlite3.Error, OSError) as error:
            raise InputError(
                f"the {self.kind} cache cannot be used: {error}",
                hint="delete it, or use another file",
                where=str(self.path),
            ) from error


def _count_bytes(database: sqlite3.Connection) -> int:
    """Return how many bytes of the file are in use."""
    pages, free, size = (
        int(database.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def cache_folder() -> Path | None:
    """Return the folder named by INTERLOQ_CACHE (default: `interloq` in the user's cache folder); None for `off`."""
    folder = os.environ.get("INTERLOQ_CACHE", "")
    if folder == "off":
        return None
    if folder:
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "interloq"

"""On-disk cache of text vectors, by model, layer and tokens; off by default.

The file is an SQLite database of float32 rows, never a pickle. It is set by the encoder's `cache` or by the
environment variable INTERLOQ_VECTOR_CACHE. Several processes may share it; it may be deleted at any time.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError

Row = NDArray[np.float32]
VARIABLE = "INTERLOQ_VECTOR_CACHE"
FEW = 500  # keys looked up at a time: SQLite limits the variables of a query
WAIT = 60.0  # seconds to wait for another process that writes


@dataclass(frozen=True)
class VectorCache:
    """Vectors in an SQLite file, by model, layer and text."""

    path: Path

    @classmethod
    def configured(cls, path: str | Path | None) -> VectorCache | None:
        """The cache at this path, or at the one set in the environment; None without either."""
        name = str(path or os.environ.get(VARIABLE, ""))
        return cls(Path(name)) if name else None

    def rows(
        self, model: str, texts: Sequence[bytes], lengths: Sequence[int], make: Callable[[list[int]], Iterable[Row]]
    ) -> list[Row]:
        """One row of the given length per text, read from the cache, or computed and added to it.

        `make` gets the indices of the texts that are not in the cache.
        """
        keys = [blake2b(model.encode() + b"\0" + text, digest_size=16).digest() for text in texts]
        with self._opened() as database:
            known = dict(_read(database, keys))
        found = {
            i: np.frombuffer(known[key], dtype="<f4")
            for i, (key, length) in enumerate(zip(keys, lengths, strict=True))
            if len(known.get(key, b"")) == 4 * length > 0
        }
        if new := [i for i in range(len(keys)) if i not in found]:
            made = dict(zip(new, make(new), strict=True))
            self._write([(keys[i], row.astype("<f4").tobytes()) for i, row in made.items()])
            found |= made
        return [found[i] for i in range(len(keys))]

    def _write(self, rows: list[tuple[bytes, bytes]]) -> None:
        with self._opened() as database, database:
            database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=WAIT)) as database:
                database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID")
                yield database
        except (sqlite3.Error, OSError) as error:
            raise InputError(
                f"the vector cache cannot be used: {error}", hint="delete it, or use another file", where=str(self.path)
            ) from error


def _read(database: sqlite3.Connection, keys: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for start in range(0, len(keys), FEW):
        part = keys[start : start + FEW]
        marks = ",".join("?" * len(part))
        yield from database.execute(f"SELECT key, row FROM vectors WHERE key IN ({marks})", part)  # noqa: S608

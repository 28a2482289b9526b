"""Sentence vectors kept on disk, by model, layer and text: off unless a file is named.

The file is an SQLite database of float32 rows, never a pickle. It is named by the encoder's `cache`, or by the
environment variable INTERLOQ_VECTOR_CACHE. Several processes may share it; it may be deleted at any time.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError

Rows = NDArray[np.float32]
VARIABLE = "INTERLOQ_VECTOR_CACHE"
FEW = 500  # keys looked up at a time: SQLite bounds the variables of a query
WAIT = 60.0  # seconds for another process that writes


@dataclass(frozen=True)
class VectorCache:
    path: Path

    @classmethod
    def asked_for(cls, path: str | Path | None) -> VectorCache | None:
        name = str(path or os.environ.get(VARIABLE, ""))
        return cls(Path(name)) if name else None

    def rows(self, model: str, texts: list[str], dimensions: int, encode: Callable[[list[str]], Rows]) -> Rows:
        """A row a text: those that are known from the file, the others encoded and put into it."""
        keys = [blake2b(f"{model}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        with self._opened() as database:
            known = {key: row for key, row in _read(database, keys) if len(row) == 4 * dimensions}
        found = np.zeros((len(texts), dimensions), dtype=np.float32)
        for i, key in enumerate(keys):
            if key in known:
                found[i] = np.frombuffer(known[key], dtype="<f4")
        if new := [i for i, key in enumerate(keys) if key not in known]:
            found[new] = encode([texts[i] for i in new])
            self._write([(keys[i], found[i].astype("<f4").tobytes()) for i in new])
        return found

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
                f"the cache of vectors cannot be used: {error}", cure="delete it, or name another", where=str(self.path)
            ) from error


def _read(database: sqlite3.Connection, keys: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for start in range(0, len(keys), FEW):
        part = keys[start : start + FEW]
        marks = ",".join("?" * len(part))
        yield from database.execute(f"SELECT key, row FROM vectors WHERE key IN ({marks})", part)  # noqa: S608

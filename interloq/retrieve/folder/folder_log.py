# SPDX-License-Identifier: Apache-2.0
"""The pairs of one segment: concatenated JSON in one memory-mapped file, and the end of each pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import orjson

from interloq.data.files.arrays import mapped
from interloq.records import Pair
from interloq.retrieve.folder.folder_manifest import REBUILD, damaged

PAIRS, ENDS = "pairs.bin", "ends.npy"


def write_log(folder: Path, pairs: Iterable[Pair]) -> None:
    """Write pairs so that each can be read by its number."""
    ends = [0]
    with (folder / PAIRS).open("wb") as file:
        for pair in pairs:
            ends.append(ends[-1] + file.write(orjson.dumps(_values(pair))))
    np.save(folder / ENDS, np.array(ends, dtype=np.int64))


class FolderLog:
    """Pairs by position, read on access."""

    def __init__(self, folder: Path, pairs: int) -> None:
        self._path = folder / PAIRS
        self._ends = mapped(folder / ENDS, np.int64, rows=pairs + 1, hint=REBUILD)
        try:
            size = self._path.stat().st_size
            self._bytes = np.memmap(self._path, dtype=np.uint8, mode="r") if size else np.zeros(0, dtype=np.uint8)
        except OSError as error:
            raise damaged(self._path, str(error.strerror)) from error
        if (self._ends[0], self._ends[-1]) != (0, size):
            raise damaged(self._path, f"{size:,} bytes, not {self._ends[-1]:,}")

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, i: int) -> Pair:
        if not 0 <= i < len(self):
            raise damaged(self._path, f"no pair {i:,} among {len(self):,}")
        start, end = self._ends[i : i + 2].tolist()
        if not 0 <= start <= end <= len(self._bytes):
            raise damaged(self._path, f"pair {i:,} cannot be at {start:,} to {end:,}")
        try:
            values = orjson.loads(self._bytes[start:end].tobytes())
        except orjson.JSONDecodeError as error:
            raise damaged(self._path, f"pair {i:,}: {error}") from error
        if not isinstance(values, list) or [type(value) for value in values] != [str] * 6:
            raise damaged(self._path, f"pair {i:,} is not six texts")
        return Pair(*values)


def _values(pair: Pair) -> Sequence[str]:
    return (pair.id, pair.utterance, pair.response, pair.to, pair.thread, pair.time)

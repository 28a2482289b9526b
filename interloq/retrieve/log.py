"""The pairs of one segment: JSON end to end in one memory-mapped file, and where each ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import orjson

from interloq.records import Pair

PAIRS, ENDS = "pairs.bin", "ends.npy"


def write_log(folder: Path, pairs: Iterable[Pair]) -> None:
    ends = [0]
    with (folder / PAIRS).open("wb") as file:
        for pair in pairs:
            ends.append(ends[-1] + file.write(orjson.dumps(_values(pair))))
    np.save(folder / ENDS, np.array(ends, dtype=np.int64))


class Log:
    """Pairs by position, read when asked for."""

    def __init__(self, folder: Path) -> None:
        self._ends = np.load(folder / ENDS, mmap_mode="r")
        path = folder / PAIRS
        self._bytes = np.memmap(path, dtype=np.uint8, mode="r") if path.stat().st_size else np.zeros(0, dtype=np.uint8)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, i: int) -> Pair:
        return Pair(*orjson.loads(self._bytes[self._ends[i] : self._ends[i + 1]].tobytes()))


def _values(pair: Pair) -> Sequence[str]:
    return (pair.id, pair.utterance, pair.response, pair.to, pair.thread, pair.time)

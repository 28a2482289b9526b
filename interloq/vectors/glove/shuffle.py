# SPDX-License-Identifier: Apache-2.0
"""The entries of a co-occurrence matrix in random order, in chunks on disk, arranged so that threads share no word.

Words are divided into BLOCKS groups, so the matrix has BLOCKS × BLOCKS blocks. The blocks (b, b + s) of one diagonal s
share no word on either side, so they can be trained in parallel, and the result does not depend on the number of
threads. An entry goes to a random chunk; inside a chunk, entries are sorted by diagonal and block, in random order
within a block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from interloq.data.files.opening import read_json, reading_saved, replacing
from interloq.vectors.glove.cooccur import Cooccurrence

BLOCKS = 32
CHUNK = 2**24  # entries per chunk, 200 MB; constant, because results for a seed depend on it
SLICE = 2**22  # counted pairs read at a time; constant for the same reason
ENTRY = np.dtype([("row", "<i4"), ("column", "<i4"), ("value", "<f4")])
FACTS = "chunks.json"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Entries by diagonal and block: block b of diagonal s is `[ends[s * BLOCKS + b]:ends[s * BLOCKS + b + 1]]`."""

    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    ends: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Chunks:
    """Shuffled co-occurrences on disk."""

    folder: Path
    chunks: int
    entries: int
    most: int  # entries of the word with most entries

    @classmethod
    def load(cls, folder: Path) -> Chunks | None:
        """Return the folder's chunks, or None if it has none."""
        path = folder / FACTS
        with reading_saved(path):
            if not path.exists():
                return None
            return cls(folder, **read_json(path))

    def chunk(self, number: int) -> Chunk:
        """Return one chunk."""
        with np.load(_path(self.folder, number), allow_pickle=False) as arrays:
            return Chunk(arrays["rows"], arrays["columns"], arrays["values"], arrays["ends"])


def shuffle(counted: Cooccurrence, folder: Path, *, seed: int, step: Callable[[int], None]) -> Chunks:
    """Distribute the entries to chunks, then sort each chunk; `step` is called with the number of entries done."""
    folder.mkdir(parents=True, exist_ok=True)
    chunks = max(1, -(-counted.full_entries // CHUNK))
    most = _deal(counted, folder, chunks, seed, step)
    for number in range(chunks):
        bin_path = _bin(folder, number)
        entries = np.fromfile(bin_path, dtype=ENTRY)
        chunk = _order_entries(entries, np.random.default_rng([seed, 2, number]))
        path, rows, columns = _path(folder, number), chunk.rows, chunk.columns
        np.savez(path, allow_pickle=False, rows=rows, columns=columns, values=chunk.values, ends=chunk.ends)
        bin_path.unlink()
        step(len(entries))
    with replacing(folder / FACTS) as file:
        file.write(orjson.dumps({"chunks": chunks, "entries": counted.full_entries, "most": most}))
    return Chunks(folder, chunks, counted.full_entries, most)


def group_of(words: NDArray[np.int32]) -> NDArray[np.int32]:
    """Assign words to groups in alternating order, so that every group has frequent and rare words."""
    place = words % (2 * BLOCKS)
    return np.where(place < BLOCKS, place, 2 * BLOCKS - 1 - place)


def _deal(counted: Cooccurrence, folder: Path, chunks: int, seed: int, step: Callable[[int], None]) -> int:
    rng = np.random.default_rng([seed, 1])
    per_word = np.zeros(counted.words, dtype=np.int64)
    with ExitStack() as stack:
        files = [stack.enter_context(_bin(folder, number).open("wb")) for number in range(chunks)]
        for entries in _both_orders(counted):
            target = rng.integers(chunks, size=len(entries), dtype=np.uint16)
            dealt = _reorder(entries, np.argsort(target, kind="stable"))
            ends = np.cumsum(np.bincount(target, minlength=chunks))
            for file, part in zip(files, np.split(dealt, ends[:-1]), strict=True):
                part.tofile(file)
            per_word += np.bincount(entries["row"], minlength=counted.words)
            step(len(entries))
    return int(per_word.max())


def _both_orders(counted: Cooccurrence) -> Iterator[NDArray[np.void]]:
    for rows, columns, values in counted.slices(SLICE):
        off = rows != columns
        entries = np.empty(len(rows) + int(off.sum()), dtype=ENTRY)
        entries["row"] = np.concatenate([rows, columns[off]])
        entries["column"] = np.concatenate([columns, rows[off]])
        entries["value"] = np.concatenate([values, values[off]])
        yield entries


def _order_entries(entries: NDArray[np.void], rng: np.random.Generator) -> Chunk:
    row_group, column_group = group_of(entries["row"]), group_of(entries["column"])
    block = ((column_group - row_group) % BLOCKS * BLOCKS + row_group).astype(np.int16)
    shuffled = rng.permutation(len(entries))
    entries = _reorder(entries, shuffled[np.argsort(block[shuffled], kind="stable")])
    ends = np.concatenate([[0], np.cumsum(np.bincount(block, minlength=BLOCKS**2))])
    rows, columns, values = (np.ascontiguousarray(entries[name]) for name in ("row", "column", "value"))
    return Chunk(rows, columns, values, ends)


def _reorder(entries: NDArray[np.void], order: NDArray[np.int64]) -> NDArray[np.void]:
    """Reorder entries as rows of integers, which numpy does ten times faster than with records."""
    rows = entries.view(np.int32).reshape(-1, 3)
    return np.take(rows, order, axis=0).view(ENTRY).reshape(-1)


def _path(folder: Path, number: int) -> Path:
    return folder / f"chunk-{number:05}.npz"


def _bin(folder: Path, number: int) -> Path:
    return folder / f"chunk-{number:05}.unordered"

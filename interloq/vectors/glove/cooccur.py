# SPDX-License-Identifier: Apache-2.0
"""Co-occurrence counts of words, weighted by 1/distance, for a corpus of any size.

X[a, b] is the sum of 1/d over all places where a and b are d ≤ window words apart in one text, in either order; a word
near itself counts for both orders, as in the GloVe program. Words outside the vocabulary are removed first and do not
add to the distance.

X is symmetric, so only a ≤ b is stored. Pairs of frequent words are summed in a table. The others become packed keys
that are sorted and summed when memory is full, written as runs and merged at the end. 1/d is stored as an integer
multiple of 1/lcm(1…window): sums are exact and depend neither on the order of the texts nor on the available memory.
(For windows above 22 that integer is too large, and sums are float64.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from interloq.data.files.opening import read_json, reading_saved, replacing
from interloq.data.text.token_texts import Texts

Keys = NDArray[np.uint64]
Run = tuple[Keys, NDArray[Any]]  # sorted distinct keys and their sums
FREQUENT = 2048  # most frequent words, summed in a table: most pairs, in 32 MiB
PART = 1_000_000  # tokens processed at a time
SMALLEST = 1000  # least number of keys in memory, whatever the limit
KEYS, SUMS, FACTS = "cooccurrence.u64", "cooccurrence.sums", "cooccurrence.json"


@dataclass(frozen=True, slots=True)
class Cooccurrence:
    """The counted pairs on disk: sorted entries (a ≤ b), with sums in units of 1/unit."""

    folder: Path
    words: int
    window: int
    unit: int
    entries: int
    diagonal: int  # entries of words near themselves
    exact: bool

    @classmethod
    def load(cls, folder: Path) -> Cooccurrence | None:
        """Return the folder's counts, or None if it has none."""
        path = folder / FACTS
        with reading_saved(path):
            if not path.exists():
                return None
            return cls(folder, **read_json(path))

    @property
    def full_entries(self) -> int:
        """Return the number of entries in the whole matrix: both orders of every pair, and the diagonal once."""
        return 2 * self.entries - self.diagonal

    def slices(self, size: int) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]]:
        """Yield rows, columns and X, for row ≤ column, sorted."""
        for start in range(0, self.entries, size):
            keys = np.fromfile(self.folder / KEYS, dtype=np.uint64, count=size, offset=8 * start)
            dtype = np.int64 if self.exact else np.float64
            sums = np.fromfile(self.folder / SUMS, dtype=dtype, count=size, offset=8 * start)
            rows, columns = np.divmod(keys, np.uint64(self.words))
            twice = 1.0 + (rows == columns)  # a word near itself counts for both orders
            yield rows.astype(np.int32), columns.astype(np.int32), sums / self.unit * twice


def count(
    parts: Iterable[Texts], folder: Path, *, words: int, window: int, memory: float, step: Callable[[int], None]
) -> Cooccurrence:
    """Count the pairs in parts of a corpus, with about `memory` bytes; `step` is called with numbers of tokens."""
    folder.mkdir(parents=True, exist_ok=True)
    for left_over in folder.glob("run-*"):
        left_over.unlink()
    weights, unit = distance_weights(window)
    counter = _Counter(folder, words, weights, limit=max(SMALLEST, int(memory / 64)))
    for part in parts:
        counter.add(part)
        step(len(part.tokens))
    runs = counter.runs()
    entries, diagonal = _write_merged(folder, runs, words, block=max(SMALLEST, int(memory / 96 / len(runs))))
    facts = Cooccurrence(folder, words, window, unit, entries, diagonal, bool(weights.dtype == np.int64))
    with replacing(folder / FACTS) as file:
        file.write(orjson.dumps({name: value for name, value in asdict(facts).items() if name != "folder"}))
    for path in folder.glob("run-*"):
        path.unlink()
    return facts


def distance_weights(window: int) -> tuple[NDArray[Any], int]:
    """Return 1/d in units of 1/unit, by d; index 0 is not used."""
    unit = math.lcm(*range(1, window + 1))
    if unit < 2**28:  # leaves room for 3·10¹⁰ neighbours at distance 1
        return np.array([0] + [unit // d for d in range(1, window + 1)], dtype=np.int64), unit
    return np.array([0.0] + [1 / d for d in range(1, window + 1)]), 1


class _Counter:
    def __init__(self, folder: Path, words: int, weights: NDArray[Any], *, limit: int) -> None:
        self._folder, self._words, self._weights, self._limit = folder, words, weights, limit
        self._side = min(words, FREQUENT)
        self._table = np.zeros(self._side**2, dtype=weights.dtype)
        self._waiting: list[Keys] = []
        self._n_waiting, self._n_runs = 0, 0
        self._shift = np.uint64(int(len(weights) - 1).bit_length())

    def add(self, part: Texts) -> None:
        """Count pairs at every distance, in the table or as keys."""
        text_of = np.repeat(np.arange(len(part.lengths), dtype=np.int32), part.lengths)
        cells, cell_weights = [], []
        for distance in range(1, len(self._weights)):
            together = text_of[:-distance] == text_of[distance:]
            left, right = part.tokens[:-distance][together], part.tokens[distance:][together]
            low, high = np.minimum(left, right), np.maximum(left, right)
            frequent = high < self._side
            cells.append(low[frequent] * np.int32(self._side) + high[frequent])
            cell_weights.append(np.full(len(cells[-1]), self._weights[distance], dtype=np.float64))
            # one number per pair, which sorts by row, column and distance
            pair = low[~frequent].astype(np.uint64) * np.uint64(self._words) + high[~frequent].astype(np.uint64)
            self._waiting.append((pair << self._shift) | np.uint64(distance))
            self._n_waiting += len(pair)
            if self._n_waiting >= self._limit:
                self._write_run()
        # integers in float64 are exact up to 2**53, which the sums of a part cannot reach
        sums = np.bincount(np.concatenate(cells), np.concatenate(cell_weights), minlength=len(self._table))
        self._table += sums.astype(self._table.dtype)

    def _write_run(self) -> None:
        keys = np.concatenate(self._waiting)
        self._waiting, self._n_waiting = [], 0
        keys.sort()
        weights = self._weights[(keys & ((np.uint64(1) << self._shift) - np.uint64(1))).astype(np.uint8)]
        _save_run(self._folder, self._n_runs, _sum_by_key(keys >> self._shift, weights))
        self._n_runs += 1

    def runs(self) -> list[Run]:
        """Write all counts as runs on disk."""
        if self._n_waiting:
            self._write_run()
        cells = np.flatnonzero(self._table)
        low, high = np.divmod(cells.astype(np.uint64), np.uint64(self._side))
        _save_run(self._folder, self._n_runs, (low * np.uint64(self._words) + high, self._table[cells]))
        return [_open_run(self._folder, i, self._weights.dtype) for i in range(self._n_runs + 1)]


def _sum_by_key(keys: Keys, values: NDArray[Any]) -> Run:
    """Return one entry per key, from sorted keys."""
    if not len(keys):
        return keys, values
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[starts], np.add.reduceat(values, starts)


def _save_run(folder: Path, number: int, run: Run) -> None:
    run[0].tofile(folder / f"run-{number:04}.keys")
    run[1].tofile(folder / f"run-{number:04}.sums")


def _open_run(folder: Path, number: int, dtype: np.dtype[Any]) -> Run:
    paths = folder / f"run-{number:04}.keys", folder / f"run-{number:04}.sums"
    if not paths[0].stat().st_size:  # an empty file cannot be mapped
        return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=dtype)
    return np.memmap(paths[0], dtype=np.uint64, mode="r"), np.memmap(paths[1], dtype=dtype, mode="r")


def _write_merged(folder: Path, runs: Sequence[Run], words: int, *, block: int) -> tuple[int, int]:
    """Write a run; return the number of entries and of entries on the diagonal, where a key is a · words + a."""
    entries, diagonal = 0, 0
    with (folder / KEYS).open("wb") as key_file, (folder / SUMS).open("wb") as sum_file:
        for keys, sums in merge_runs(runs, block):
            keys.tofile(key_file)
            sums.tofile(sum_file)
            entries += len(keys)
            diagonal += int(np.count_nonzero(keys % np.uint64(words + 1) == 0))
    return entries, diagonal


def merge_runs(runs: Sequence[Run], block: int) -> Iterator[Run]:
    """Merge sorted runs, in pieces; at most `block` entries of each run are in memory."""
    places = [0] * len(runs)
    while any(place < len(keys) for place, (keys, _) in zip(places, runs, strict=True)):
        # keys up to the smallest last key in memory are complete in all runs
        complete: np.uint64 | None = None
        for place, (keys, _) in zip(places, runs, strict=True):
            if place + block < len(keys):
                last = keys[place + block - 1]
                complete = last if complete is None else min(complete, last)
        taken_keys, taken_sums = [], []
        for i, (keys, sums) in enumerate(runs):
            start = places[i]
            view = keys[start : start + block]
            n = len(view)
            if complete is not None:
                n = int(np.searchsorted(view, complete, "right"))
            taken_keys.append(view[:n])
            taken_sums.append(sums[start : start + n])
            places[i] += n
        merged_keys, merged_sums = np.concatenate(taken_keys), np.concatenate(taken_sums)
        order = np.argsort(merged_keys, kind="stable")
        yield _sum_by_key(merged_keys[order], merged_sums[order])

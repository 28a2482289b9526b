# SPDX-License-Identifier: Apache-2.0
"""Vectors of a log's texts on disk, with each distinct text encoded once, and the log's pairs as text numbers.

Vectors are float16 rows in the order of the input, written as they are computed: an interrupted run resumes after the
last complete row. Texts are numbered in the order of their hashes and pairs are sorted by these numbers, so that
nothing else depends on the order of the log. Train and dev never share an utterance.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.appended import Appended
from interloq.data.files.opening import read_json, reading_saved, write_json
from interloq.learn.pair_tokens import FACTS, PAIRS, NumberedPairs, SplitPairs, split
from interloq.models.encoder import Encoder, Pooling
from interloq.records import Pair
from interloq.scorers.bert_ruber.model import pooled_vectors

VECTORS, ROWS = "vectors.f16", "rows.npy"
BATCH = 2048  # pairs encoded at a time: the most work that a kill loses


@dataclass(frozen=True, slots=True)
class PairVectors(SplitPairs):
    """Pairs with the vectors of their texts."""

    vectors: NDArray[np.float16]
    places: NDArray[np.int64]  # row of each text's vector
    pairs: NDArray[np.int32]
    dev: int
    blank: int  # pairs omitted because one side has no text

    @classmethod
    def load(cls, folder: Path) -> PairVectors:
        """Load the vectors in a folder."""
        with reading_saved(folder):
            facts = read_json(folder / FACTS)
            dimensions = facts.pop("dimensions")
            vectors = np.asarray(np.memmap(folder / VECTORS, dtype=np.float16, mode="r")).reshape(-1, dimensions)
            places, pairs = (np.load(folder / name, allow_pickle=False) for name in (ROWS, PAIRS))
            return cls(vectors, places, pairs, **facts)

    def of(self, texts: NDArray[np.integer]) -> NDArray[np.float32]:
        """Vectors of texts, given by number."""
        return np.asarray(self.vectors[self.places[texts]], dtype=np.float32)


def write_pair_vectors(
    pairs: Iterable[Pair],
    folder: Path,
    encoder: Encoder,
    pooling: Pooling,
    *,
    dev: int,
    step: Callable[[int], None] = lambda _: None,
) -> PairVectors:
    """Encode the texts of a stream of pairs; texts that an earlier run has encoded are skipped."""
    folder.mkdir(parents=True, exist_ok=True)
    read = NumberedPairs()
    with contextlib.closing(Appended(folder / VECTORS)) as file:
        done = _whole_rows(file, encoder.dimensions)
        for new in read.new_texts(pairs, BATCH, step):
            missing = new[min(done, len(new)) :]
            done -= len(new) - len(missing)
            _append(file, pooled_vectors(encoder, missing, pooling))
    rows, numbered = read.numbered()
    facts = {"dev": split(numbered, dev), "blank": read.blank, "dimensions": encoder.dimensions}
    np.save(folder / ROWS, rows, allow_pickle=False)
    np.save(folder / PAIRS, numbered, allow_pickle=False)
    write_json(folder / FACTS, facts)  # last: it marks the folder complete
    return PairVectors.load(folder)


def started(folder: Path) -> bool:
    """Whether a folder contains encoded texts."""
    path = folder / VECTORS
    return path.exists() and path.stat().st_size > 0


def _whole_rows(file: Appended, dimensions: int) -> int:
    """Number of complete rows from an earlier run; an incomplete last row is cut off."""
    size = dimensions * np.dtype(np.float16).itemsize
    rows = file.size() // size
    file.cut(rows * size)
    return rows


def _append(file: Appended, vectors: NDArray[np.float32]) -> None:
    if len(vectors):
        limit = np.finfo(np.float16).max
        file.add(np.clip(vectors, -limit, limit).astype(np.float16).tobytes())

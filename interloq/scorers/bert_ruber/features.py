"""Vectors of a log's texts on disk, each distinct text encoded once, and its pairs as numbers of these texts.

Vectors are rows of float16 in the order in which the texts came, written as they are made: cut short, the work goes on
after the last whole row. Texts are numbered by the order of their hashes and pairs sorted by these numbers, so that
nothing else depends on the order of the log. An utterance is never both in the part to train on and in that to check.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq.data.appended import Appended
from interloq.data.files import read_json, reading_saved, write_json
from interloq.data.unseen_texts import Distinct
from interloq.learn.pair_tokens import SplitPairs, batches_of, filled, hashes_of, split
from interloq.models.encoder import Encoder, Pooling
from interloq.records import Pair
from interloq.scorers.bert_ruber.model import pooled_vectors

VECTORS, ROWS, PAIRS, FACTS = "vectors.f16", "rows.npy", "pairs.npy", "pairs.json"
BATCH = 2048  # pairs whose texts are encoded at a time: what a kill costs


@dataclass(frozen=True, slots=True)
class PairVectors(SplitPairs):
    """Pairs with the vectors of their texts."""

    vectors: NDArray[np.float16]
    places: NDArray[np.int64]  # of the vectors, by text number
    pairs: NDArray[np.int32]
    dev: int
    blank: int  # pairs left out because a side of them holds no text

    @staticmethod
    def written(folder: Path) -> bool:
        """Whether a folder holds whole vectors."""
        return (folder / FACTS).exists()

    @classmethod
    def load(cls, folder: Path) -> PairVectors:
        """Those that a folder holds."""
        with reading_saved(folder):
            facts = read_json(folder / FACTS)
            dimensions = facts.pop("dimensions")
            vectors = np.asarray(np.memmap(folder / VECTORS, dtype=np.float16, mode="r")).reshape(-1, dimensions)
            places, pairs = (np.load(folder / name, allow_pickle=False) for name in (ROWS, PAIRS))
            return cls(vectors, places, pairs, **facts)

    def of(self, texts: NDArray[np.integer]) -> NDArray[np.float32]:
        """The vectors of texts, by their numbers."""
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
    """Encode the texts of pairs as these stream by; what an earlier run has encoded is taken from disk."""
    folder.mkdir(parents=True, exist_ok=True)
    seen, blank = Distinct(), 0
    hashes, both = [hashes_of([])], [hashes_of([])]
    with contextlib.closing(Appended(folder / VECTORS)) as file:
        done = _whole_rows(file, encoder.dimensions)
        for batch in batches_of(pairs, BATCH):
            texts = [text for pair in batch if filled(pair) for text in (pair.utterance, pair.response)]
            blank += len(batch) - len(texts) // 2
            new = seen.new(texts)
            lacking = new[min(done, len(new)) :]
            done -= len(new) - len(lacking)
            _append(file, pooled_vectors(encoder, lacking, pooling))
            hashes.append(hashes_of(new))
            both.append(hashes_of(texts))
            step(len(batch))
    facts = {"blank": blank, "dimensions": encoder.dimensions}
    return _sorted(folder, np.concatenate(hashes), np.concatenate(both).reshape(-1, 2), dev, facts)


def begun(folder: Path) -> bool:
    """Whether a text was encoded here."""
    path = folder / VECTORS
    return path.exists() and path.stat().st_size > 0


def _sorted(
    folder: Path, hashes: NDArray[np.uint64], both: NDArray[np.uint64], dev: int, facts: dict[str, int]
) -> PairVectors:
    """Texts in the order of their hashes, pairs in that of their texts. The file that says all is whole comes last."""
    order = np.argsort(hashes)
    pairs = np.searchsorted(hashes, both, sorter=order).astype(np.int32)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    kept = split(pairs, dev)
    np.save(folder / ROWS, order, allow_pickle=False)
    np.save(folder / PAIRS, pairs, allow_pickle=False)
    write_json(folder / FACTS, {"dev": kept, **facts})
    return PairVectors.load(folder)


def _whole_rows(file: Appended, dimensions: int) -> int:
    """How many rows an earlier run has left; part of a row, where a kill came while it was written, is cut off."""
    size = dimensions * np.dtype(np.float16).itemsize
    rows = file.size() // size
    file.cut(rows * size)
    return rows


def _append(file: Appended, vectors: NDArray[np.float32]) -> None:
    if len(vectors):
        limit = np.finfo(np.float16).max
        file.add(np.clip(vectors, -limit, limit).astype(np.float16).tobytes())

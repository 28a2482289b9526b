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

from interloq.data.appended import Appended
from interloq.data.files import read_json, reading_saved, write_json
from interloq.data.unseen_texts import Distinct
from interloq.learn.pair_tokens import SplitPairs, batches_of, has_text, hashes_of, split
from interloq.models.encoder import Encoder, Pooling
from interloq.records import Pair
from interloq.scorers.bert_ruber.model import pooled_vectors

VECTORS, ROWS, PAIRS, FACTS = "vectors.f16", "rows.npy", "pairs.npy", "pairs.json"
BATCH = 2048  # pairs encoded at a time: the most work that a kill loses


@dataclass(frozen=True, slots=True)
class PairVectors(SplitPairs):
    """Pairs with the vectors of their texts."""

    vectors: NDArray[np.float16]
    places: NDArray[np.int64]  # row of each text's vector
    pairs: NDArray[np.int32]
    dev: int
    blank: int  # pairs omitted because one side has no text

    @staticmethod
    def written(folder: Path) -> bool:
        """Whether a folder contains complete vectors."""
        return (folder / FACTS).exists()

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
    seen, blank = Distinct(), 0
    hashes, both = [hashes_of([])], [hashes_of([])]
    with contextlib.closing(Appended(folder / VECTORS)) as file:
        done = _whole_rows(file, encoder.dimensions)
        for batch in batches_of(pairs, BATCH):
            texts = [text for pair in batch if has_text(pair) for text in (pair.utterance, pair.response)]
            blank += len(batch) - len(texts) // 2
            new = seen.new(texts)
            missing = new[min(done, len(new)) :]
            done -= len(new) - len(missing)
            _append(file, pooled_vectors(encoder, missing, pooling))
            hashes.append(hashes_of(new))
            both.append(hashes_of(texts))
            step(len(batch))
    facts = {"blank": blank, "dimensions": encoder.dimensions}
    return _sorted(folder, np.concatenate(hashes), np.concatenate(both).reshape(-1, 2), dev, facts)


def started(folder: Path) -> bool:
    """Whether a folder contains encoded texts."""
    path = folder / VECTORS
    return path.exists() and path.stat().st_size > 0


def _sorted(
    folder: Path, hashes: NDArray[np.uint64], both: NDArray[np.uint64], dev: int, facts: dict[str, int]
) -> PairVectors:
    """Sort texts by their hashes and pairs by their texts. The file that marks the folder complete comes last."""
    order = np.argsort(hashes)
    pairs = np.searchsorted(hashes, both, sorter=order).astype(np.int32)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    kept = split(pairs, dev)
    np.save(folder / ROWS, order, allow_pickle=False)
    np.save(folder / PAIRS, pairs, allow_pickle=False)
    write_json(folder / FACTS, {"dev": kept, **facts})
    return PairVectors.load(folder)


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

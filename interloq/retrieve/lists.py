"""Vectors of one segment: exact while an index is small, faiss inverted lists of 8-bit codes beyond, memory-mapped.

All segments of an index share one trained faiss index (centroids and the range of codes), so a query is compared with
the centroids once and every segment is searched in the same lists.
"""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from interloq.retrieve.retriever import NOTHING, Floats, Ids, best
from interloq.retrieve.sweep import Sweep, worthwhile

EXACT, LISTS, TRUTH = "exact.npy", "lists.faiss", "truth.npz"
ITERATIONS = 10
POINTS_A_LIST = 64  # training points for each centroid; more changes little and costs in proportion


def train(vectors: Floats, n_lists: int) -> Any:
    """Centroids and code ranges from a sample of vectors."""
    dimensions = vectors.shape[1]
    index = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatIP(dimensions),
        dimensions,
        n_lists,
        faiss.ScalarQuantizer.QT_8bit,
        faiss.METRIC_INNER_PRODUCT,
    )
    index.cp.niter, index.cp.max_points_per_centroid, index.cp.min_points_per_centroid = ITERATIONS, POINTS_A_LIST, 1
    index.train(vectors)
    return index


def write_trained(path: Path, trained: Any) -> None:
    """Appears under its name only when whole."""
    part = path.with_suffix(".part")
    faiss.write_index(trained, str(part))
    part.replace(path)


def write_exact(folder: Path, vectors: Floats) -> None:
    np.save(folder / EXACT, vectors)


def write_lists(folder: Path, trained: Path, vectors: Floats) -> None:
    index = faiss.read_index(str(trained))
    index.add(vectors)
    faiss.write_index(index, str(folder / LISTS))


class Segment:
    """The vectors of one segment, opened without reading them."""

    def __init__(self, folder: Path) -> None:
        self.exact: Floats | None = None
        self.lists: Any = None
        if (folder / EXACT).exists():
            self.exact = np.load(folder / EXACT, mmap_mode="r")
            self.n = len(self.exact)
        else:
            self.lists = faiss.read_index(str(folder / LISTS), faiss.IO_FLAG_MMAP)
            self.n = self.lists.ntotal

    def vectors(self, ids: Ids) -> Floats:
        """Stored vectors by place; codes come back as the vectors they stand for."""
        if self.exact is not None:
            return np.asarray(self.exact[ids])
        if self.lists.direct_map.type == faiss.DirectMap.NoMap:
            self.lists.make_direct_map()
        return np.asarray(self.lists.reconstruct_batch(ids))


def nearest(segments: list[Segment], queries: Floats, k: int, n_probe: int) -> tuple[Ids, Floats]:
    """The k nearest, of every segment or of all that were searched together, side by side."""
    queries = np.ascontiguousarray(queries, dtype=np.float32)
    firsts = [0, *accumulate(segment.n for segment in segments)]
    parts, listed = [], []
    for segment, first in zip(segments, firsts, strict=False):
        if segment.exact is None:
            listed.append((segment.lists, first))
        else:
            values, ids = faiss.knn(queries, np.asarray(segment.exact), k, metric=faiss.METRIC_INNER_PRODUCT)
            parts.append(_placed(values, ids, first))
    if listed:
        parts += _visited(listed, queries, k, n_probe)
    return np.concatenate([ids for ids, _ in parts], axis=1), np.concatenate([values for _, values in parts], axis=1)


def _visited(listed: list[tuple[Any, int]], queries: Floats, k: int, n_probe: int) -> list[tuple[Ids, Floats]]:
    """The nearest in the lists that each query visits."""
    trained = listed[0][0]
    n_probe = min(n_probe, trained.nlist)
    products, lists = trained.quantizer.search(queries, n_probe)
    if worthwhile(len(queries), n_probe, trained.nlist):
        indexes, firsts = zip(*listed, strict=True)
        return [Sweep(indexes, firsts).nearest(queries, k, lists, products)]
    parts = []
    for index, first in listed:
        index.nprobe = n_probe
        values, ids = index.search_preassigned(queries, k, lists, products)
        parts.append(_placed(values, ids, first))
    return parts


def _placed(scores: Floats, ids: Ids, first: int) -> tuple[Ids, Floats]:
    empty = ids < 0
    return np.where(empty, NOTHING, ids + first), np.where(empty, -np.inf, scores).astype(np.float32)


def scores(segments: list[Segment], queries: Floats, ids: Ids) -> Floats:
    """Inner products of each query with given vectors; -inf where there is none."""
    values = np.full(ids.shape, -np.inf, dtype=np.float32)
    first = 0
    for segment in segments:
        rows, columns = np.nonzero((ids >= first) & (ids < first + segment.n))
        if len(rows):
            vectors = segment.vectors(ids[rows, columns] - first)
            values[rows, columns] = np.einsum("ij,ij->i", queries[rows], vectors)
        first += segment.n
    return values


# ---- measuring recall ------------------------------------------------------------------------------------------------


def write_truth(folder: Path, probes: Floats, vectors: Floats, k: int) -> None:
    """The true neighbours of the probes among one segment's vectors, found before these become codes."""
    values, ids = faiss.knn(probes, vectors, k, metric=faiss.METRIC_INNER_PRODUCT)
    np.savez(folder / TRUTH, ids=ids, scores=values, n=len(vectors))


def read_truth(folders: list[Path]) -> Ids:
    """The true neighbours among all segments."""
    ids, values, first = [], [], 0
    for folder in folders:
        with np.load(folder / TRUTH) as part:
            ids.append(np.where(part["ids"] < 0, NOTHING, part["ids"] + first))
            values.append(part["scores"])
            first += int(part["n"])
    return best(np.concatenate(ids, axis=1), np.concatenate(values, axis=1), ids[0].shape[1])[0]

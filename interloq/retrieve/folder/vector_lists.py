# SPDX-License-Identifier: Apache-2.0
"""Vectors of one segment, memory-mapped: exact in a small index, codes in a large one.

A large index is scanned by `vector_scan`. One of schema 1 has faiss inverted lists of 8-bit codes instead, and keeps
them if pairs are added. Its segments share one trained faiss index (centroids and the range of codes), so a query is
compared with the centroids once, and the same lists are searched in every segment.

faiss compares a query with one code at a time. If many queries visit the same list, `Sweep` computes all comparisons
with the list's codes as one matrix product, which is several times faster. A vector x in the list of centroid c is
stored as codes of its difference from c, so with v and w, the quantizer's smallest values and ranges per dimension,

    q · x = q · c + Σ_d q_d · (v_d + w_d · (code_d + ½) / 255)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from threadpoolctl import threadpool_limits

from interloq.data.files.arrays import map_array, small_arrays
from interloq.data.files.write_errors import writing
from interloq.retrieve.folder import vector_scan
from interloq.retrieve.folder.folder_files import REBUILD, make_damage_error
from interloq.retrieve.folder.vector_scan import ScanSegment, TrainedCodes
from interloq.retrieve.retriever import NOTHING, Floats, Ids, best

EXACT, LISTS, TRUTH = "exact.npy", "lists.faiss", "truth.npz"
SHARED = 24  # queries per list, on average, below which faiss is faster (measured)
TRUTH_BYTES = 2**22


def write_exact(folder: Path, vectors: Floats) -> None:
    """Write the vectors of a segment without compression."""
    np.save(folder / EXACT, vectors)


def write_lists(folder: Path, trained: Path, vectors: Floats) -> None:
    """Write the vectors of a segment as codes in inverted lists, for an index that has such lists."""
    index = _read(trained)
    index.add(vectors)
    with writing(folder, RuntimeError):
        _write(index, folder / LISTS)


def _write(index: Any, path: Path) -> None:
    """Write and open the file: faiss does not report if the disk was too full for the last bytes."""
    faiss.write_index(index, str(path))
    faiss.read_index(str(path), faiss.IO_FLAG_MMAP)


def _read(path: Path, flags: int = 0) -> Any:
    try:
        index = faiss.read_index(str(path), flags)
    except (RuntimeError, MemoryError) as error:
        raise make_damage_error(path, str(error).splitlines()[0]) from error
    if not (
        isinstance(index, faiss.IndexIVFScalarQuantizer)
        and index.is_trained
        and index.metric_type == faiss.METRIC_INNER_PRODUCT
        and index.sq.qtype == faiss.ScalarQuantizer.QT_8bit
        and 0 < index.d == index.code_size == index.sq.d == index.quantizer.d == index.invlists.code_size
        and index.sq.trained.size() == 2 * index.d
        and 0 < index.nlist == index.invlists.nlist == index.quantizer.ntotal
        and index.ntotal == index.invlists.compute_ntotal()
    ):
        raise make_damage_error(path, "its parts do not match")
    return index


class VectorSegment:
    """The `n` vectors of one segment, memory-mapped."""

    def __init__(self, folder: Path, n: int, trained: TrainedCodes | None = None) -> None:
        self.folder, self.n = folder, n
        self.exact: Floats | None = None
        self.codes: ScanSegment | None = None
        self.lists: Any = None
        if (folder / EXACT).exists():
            self.exact = map_array(folder / EXACT, np.float32, dimensions=2, rows=n, hint=REBUILD)
            self.shape = (self.exact.shape[1], 0)
        elif trained is not None:
            self.codes = ScanSegment(folder, n, trained)
            self.shape = (len(trained.axes), len(trained.centroids))
        else:
            self.lists = _read(folder / LISTS, faiss.IO_FLAG_MMAP)
            self.shape = (self.lists.d, self.lists.nlist)
            if self.lists.ntotal != n:
                raise make_damage_error(folder / LISTS, f"{self.lists.ntotal:,} vectors, not {n:,}")

    def vectors(self, ids: Ids) -> Floats:
        """Return stored vectors by position, exact or from faiss lists, whose codes are decoded."""
        if self.exact is not None:
            return np.asarray(self.exact[ids])
        try:
            if self.lists.direct_map.type == faiss.DirectMap.NoMap:
                self.lists.make_direct_map()
            return np.asarray(self.lists.reconstruct_batch(ids))
        except RuntimeError as error:
            raise make_damage_error(self.folder / LISTS, str(error).splitlines()[0]) from error


def open_segments(folders: Mapping[Path, int], trained: Path | None = None) -> list[VectorSegment]:
    """Open the segments of an index (folder → number of vectors) and check that their shapes agree."""
    codes = TrainedCodes.load(trained) if trained else None
    segments = [VectorSegment(folder, n, codes) for folder, n in folders.items()]
    dimensions = {segment.shape[0] for segment in segments}
    listed = {segment.shape for segment in segments if segment.exact is None}
    if len(dimensions) > 1 or len(listed) > 1:
        raise make_damage_error(
            segments[0].folder, f"its segments have vectors of different shapes: {sorted(dimensions)}"
        )
    return segments


def nearest(segments: list[VectorSegment], queries: Floats, k: int, n_probe: int) -> tuple[Ids, Floats]:
    """Return the k nearest vectors of each segment, or of segments searched together, as columns side by side."""
    queries = np.ascontiguousarray(queries, dtype=np.float32)
    _check_dimensions(segments, queries)
    firsts = [0, *accumulate(segment.n for segment in segments)]
    parts, listed, scanned = [], [], []
    for segment, first in zip(segments, firsts, strict=False):
        if segment.codes is not None:
            scanned.append((segment.codes, first))
        elif segment.exact is None:
            listed.append((segment.lists, first))
        else:
            values, ids = faiss.knn(queries, np.asarray(segment.exact), k, metric=faiss.METRIC_INNER_PRODUCT)
            parts.append(_with_offset(values, ids, first))
    if listed:
        parts += _search_lists(listed, queries, k, n_probe)
    if scanned:
        parts.append(vector_scan.nearest(scanned, queries, k, n_probe))
    return np.concatenate([ids for ids, _ in parts], axis=1), np.concatenate([values for _, values in parts], axis=1)


def _check_dimensions(segments: list[VectorSegment], queries: Floats) -> None:
    if segments and segments[0].shape[0] != queries.shape[1]:
        raise make_damage_error(
            segments[0].folder, f"vectors of {segments[0].shape[0]} dimensions, not {queries.shape[1]}"
        )


def _search_lists(listed: list[tuple[Any, int]], queries: Floats, k: int, n_probe: int) -> list[tuple[Ids, Floats]]:
    """Return the nearest vectors in the lists that each query visits."""
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
        parts.append(_with_offset(values, ids, first))
    return parts


def _with_offset(scores: Floats, ids: Ids, first: int) -> tuple[Ids, Floats]:
    empty = ids < 0
    return np.where(empty, NOTHING, ids + first), np.where(empty, -np.inf, scores).astype(np.float32)


def scores(segments: list[VectorSegment], queries: Floats, ids: Ids) -> Floats:
    """Return inner products of each query with given vectors; -inf for ids that do not exist."""
    _check_dimensions(segments, queries)
    values = np.full(ids.shape, -np.inf, dtype=np.float32)
    first = 0
    for segment in segments:
        if segment.codes is not None:
            vector_scan.score(segment.codes, queries, ids - first, values)
            first += segment.n
            continue
        rows, columns = np.nonzero((ids >= first) & (ids < first + segment.n))
        if len(rows):
            vectors = segment.vectors(ids[rows, columns] - first)
            values[rows, columns] = np.einsum("ij,ij->i", queries[rows], vectors)
        first += segment.n
    return values


def write_truth(folder: Path, probes: Floats, vectors: Floats, k: int) -> None:
    """Write the true neighbours of the probes among one segment's vectors, found before the vectors are encoded."""
    values, ids = faiss.knn(probes, vectors, k, metric=faiss.METRIC_INNER_PRODUCT)
    np.savez(folder / TRUTH, ids=ids, scores=values, n=len(vectors))


def read_truth(folders: Mapping[Path, int], probes: int) -> Ids:
    """Return the true neighbours of the probes among all segments (folder → number of vectors)."""
    ids, values, first = [], [], 0
    for folder, n in folders.items():
        path = folder / TRUTH
        near, scores, count = small_arrays(path, "ids", "scores", "n", limit=TRUTH_BYTES, hint=REBUILD)
        if near.shape != scores.shape or near.ndim != 2 or len(near) != probes or count != n:
            raise make_damage_error(path, "it belongs to other vectors")
        if near.dtype != np.int64 or scores.dtype != np.float32 or near.max(initial=-1) >= n:
            raise make_damage_error(path, "it names vectors that do not exist")
        ids.append(np.where(near < 0, NOTHING, near + first))
        values.append(scores)
        first += n
    return best(np.concatenate(ids, axis=1), np.concatenate(values, axis=1), ids[0].shape[1])[0]


def worthwhile(queries: int, n_probe: int, n_lists: int) -> bool:
    """Return whether enough queries share a list for a search list by list."""
    return queries * n_probe >= SHARED * n_lists


@dataclass(frozen=True, slots=True)
class Sweep:
    """Indexes with the same trained quantizer; ids of the i-th start at `firsts[i]`."""

    indexes: Sequence[Any]
    firsts: Sequence[int]

    def nearest(self, queries: Floats, k: int, lists: Ids, products: Floats) -> tuple[Ids, Floats]:
        """Return the k nearest vectors for each query in the `lists` it visits; `products` are query · centroid."""
        visits = _Visits(lists, products)
        smallest, width = faiss.vector_to_array(self.indexes[0].sq.trained).reshape(2, -1)
        scaled = queries * (width / np.float32(255))
        constant = queries @ smallest + scaled.sum(axis=1) / np.float32(2)
        threads = max(1, min(os.cpu_count() or 1, len(visits.lists)))

        def work(number: int) -> tuple[Ids, Floats]:
            nearest = _Best(len(queries), k)
            for i in range(number, len(visits.lists), threads):
                ids, codes = self._read(int(visits.lists[i]))
                if len(ids):
                    rows, centroid = visits.of(i)
                    nearest.add(rows, ids, scaled[rows] @ codes.T + (constant[rows] + centroid)[:, None])
            return nearest.ids, nearest.scores

        with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(work, range(threads)))
        ids, scores = (np.concatenate(side, axis=1) for side in zip(*parts, strict=True))
        return best(ids, scores, k)

    def _read(self, number: int) -> tuple[Ids, Floats]:
        """Return ids and codes of one list from all indexes."""
        ids, codes = [np.zeros(0, dtype=np.int64)], [np.zeros((0, self.indexes[0].d), dtype=np.float32)]
        for index, first in zip(self.indexes, self.firsts, strict=True):
            stored = index.invlists
            if n := stored.list_size(number):
                ids.append(faiss.rev_swig_ptr(stored.get_ids(number), n) + first)
                flat = faiss.rev_swig_ptr(stored.get_codes(number), n * index.code_size)
                codes.append(flat.reshape(n, -1).astype(np.float32))
        return np.concatenate(ids), np.concatenate(codes)


class _Visits:
    """The queries that visit each list."""

    def __init__(self, lists: Ids, products: Floats) -> None:
        order = np.argsort(lists, axis=None, kind="stable")
        order = order[lists.ravel()[order] >= 0]
        self.lists, starts = np.unique(lists.ravel()[order], return_index=True)
        self._ends = np.append(starts, len(order))
        self._rows, self._products = order // lists.shape[1], products.ravel()[order]

    def of(self, i: int) -> tuple[Ids, Floats]:
        own = slice(self._ends[i], self._ends[i + 1])
        return self._rows[own], self._products[own]


class _Best:
    """The k best results of each query so far, best first."""

    def __init__(self, queries: int, k: int) -> None:
        self.ids = np.full((queries, k), NOTHING, dtype=np.int64)
        self.scores = np.full((queries, k), -np.inf, dtype=np.float32)

    def add(self, rows: Ids, ids: Ids, scores: Floats) -> None:
        better = scores.max(axis=1) >= self.scores[rows, -1]  # most lists have no better result for most queries
        rows, scores = rows[better], scores[better]
        if scores.shape[1] > self.scores.shape[1]:
            few = np.argpartition(-scores, self.scores.shape[1] - 1, axis=1)[:, : self.scores.shape[1]]
            candidates, scores = ids[few], np.take_along_axis(scores, few, axis=1)
        else:
            candidates = np.broadcast_to(ids, scores.shape)
        candidates = np.concatenate([self.ids[rows], candidates], axis=1)
        scores = np.concatenate([self.scores[rows], scores], axis=1)
        self.ids[rows], self.scores[rows] = best(candidates, scores, self.scores.shape[1])

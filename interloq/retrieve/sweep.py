# SPDX-License-Identifier: Apache-2.0
"""Search of faiss's inverted lists of 8-bit codes for many queries, list by list instead of query by query.

faiss compares a query with one code at a time. If many queries visit the same list, all comparisons can be one matrix
product with the list's codes, several times faster. A vector x in the list of centroid c is stored as codes of its
difference from c, so with v and w, the quantizer's smallest values and ranges per dimension,

    q · x = q · c + Σ_d q_d · (v_d + w_d · (code_d + ½) / 255)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import faiss
import numpy as np
from threadpoolctl import threadpool_limits

from interloq.retrieve.retriever import NOTHING, Floats, Ids, best

SHARED = 24  # queries per list, on average, below which faiss is faster (measured)


def worthwhile(queries: int, n_probe: int, n_lists: int) -> bool:
    """Whether enough queries share a list for a search list by list."""
    return queries * n_probe >= SHARED * n_lists


@dataclass(frozen=True, slots=True)
class Sweep:
    """Indexes with the same trained quantizer; ids of the i-th start at `firsts[i]`."""

    indexes: Sequence[Any]
    firsts: Sequence[int]

    def nearest(self, queries: Floats, k: int, lists: Ids, products: Floats) -> tuple[Ids, Floats]:
        """The k nearest of each query in the `lists` it visits; `products` are inner products with their centroids."""
        visits = _Visits(lists, products)
        scaled, constant = self._scaled(queries)
        threads = max(1, min(os.cpu_count() or 1, len(visits.lists)))

        def work(number: int) -> tuple[Ids, Floats]:
            found = _Best(len(queries), k)
            for i in range(number, len(visits.lists), threads):
                ids, codes = self._read(int(visits.lists[i]))
                if len(ids):
                    rows, centroid = visits.of(i)
                    found.add(rows, ids, scaled[rows] @ codes.T + (constant[rows] + centroid)[:, None])
            return found.ids, found.scores

        with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(work, range(threads)))
        ids, scores = (np.concatenate(side, axis=1) for side in zip(*parts, strict=True))
        return best(ids, scores, k)

    def _scaled(self, queries: Floats) -> tuple[Floats, Floats]:
        smallest, width = faiss.vector_to_array(self.indexes[0].sq.trained).reshape(2, -1)
        scaled = queries * (width / np.float32(255))
        return scaled, queries @ smallest + scaled.sum(axis=1) / np.float32(2)

    def _read(self, number: int) -> tuple[Ids, Floats]:
        """Ids and codes of one list from all indexes."""
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
    """The k best of each query so far, best first."""

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

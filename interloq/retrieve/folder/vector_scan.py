# SPDX-License-Identifier: Apache-2.0
"""Vectors of one segment of a large index: short codes that are scanned, and full codes that give the scores.

Inner products depend most on a few principal axes of the vectors. Along these axes a vector is stored as one byte per
axis (its short code), next to the other vectors of its inverted list. A search visits the nearest lists, compares the
query with their short codes, and scores the best candidates again with their full codes, which have one byte more along
the first axes and one byte along each of the others:

    x = Σ_a axis_a · (step_a · short_a + v_a + w_a · (code_a + ½) / 255)

with step = 0 after the first axes, and v and w, the smallest values and ranges of what the short code leaves. All
segments share axes, steps, ranges and centroids. Candidates with equal scores are kept in the order of their numbers,
so what is found does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import faiss
import numba
import numpy as np

from interloq.data.files.arrays import map_array, small_arrays
from interloq.data.files.durable import atomic_file
from interloq.models.numba_threads import start_threads
from interloq.retrieve.folder.folder_files import REBUILD, make_damage_error
from interloq.retrieve.retriever import NOTHING, Floats, Ids

SHORT, CODES, STARTS = "short.npy", "codes.npy", "starts.npy"  # short codes by list, full codes by number
NUMBERS, PLACES = "numbers.npy", "places.npy"  # number of each short code's vector, and the reverse
TINY = np.float32(1e-6)  # the least range of codes
CANDIDATES = 512  # scored again with full codes
UNEXPLAINED = 0.012  # of the variance of inner products, at most, outside the axes of short codes
AXES_STEP = 16  # axes per vector register
MARGIN = 0.05  # by which a later vector may exceed the range of the sample on either side
ITERATIONS, SEED = 8, 1
BLOCK = 65_536  # vectors encoded at a time
TRAINED_BYTES = 2**28
ROWS = 64  # short codes that are unpacked at a time and compared with each query that visits their list


@dataclass(frozen=True, slots=True)
class TrainedCodes:
    """What all segments of an index share."""

    axes: Floats  # dimensions × all principal axes
    steps: Floats  # value of one step of a short code, for each of the first axes
    smallest: Floats  # value of full code −½, per axis
    widths: Floats  # range of full codes, per axis
    centroids: Floats  # of the lists, along the first axes

    @classmethod
    def train(cls, vectors: Floats, n_lists: int) -> TrainedCodes:
        """Find axes, ranges and centroids from a sample of vectors."""
        variances, axes = np.linalg.eigh((vectors.T @ vectors).astype(np.float64))
        axes = np.ascontiguousarray(axes[:, ::-1], dtype=np.float32)
        n_axes = _count_axes(variances[::-1])
        projected = vectors @ axes
        low, high = projected.min(axis=0), projected.max(axis=0)
        widths = np.maximum((high - low) * (1 + 2 * MARGIN), TINY)
        smallest = (low + high - widths) / np.float32(2)
        steps = np.maximum(np.abs(projected[:, :n_axes]).max(axis=0) * (1 + MARGIN) / np.float32(127), TINY)
        smallest[:n_axes], widths[:n_axes] = -steps / 2, steps
        clusters = faiss.Kmeans(
            n_axes,
            n_lists,
            niter=ITERATIONS,
            seed=SEED,
            min_points_per_centroid=1,
            max_points_per_centroid=len(vectors),
        )
        clusters.train(np.ascontiguousarray(projected[:, :n_axes]))
        return cls(axes, steps, smallest, widths, clusters.centroids)

    def save(self, path: Path) -> None:
        """Write everything atomically."""
        with atomic_file(path) as file:
            np.savez(file, **{name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def load(cls, path: Path) -> TrainedCodes:
        """Read everything and check that the parts match."""
        trained = cls(*small_arrays(path, *cls.__slots__, limit=TRAINED_BYTES, hint=REBUILD))
        n_axes, dimensions = len(trained.steps), len(trained.axes)
        shapes = [getattr(trained, name).shape for name in cls.__slots__]
        lists = (len(trained.centroids), n_axes)
        wanted = [(dimensions, dimensions), (n_axes,), (dimensions,), (dimensions,), lists]
        if shapes != wanted or any(getattr(trained, name).dtype != np.float32 for name in cls.__slots__):
            raise make_damage_error(path, "its parts do not match")
        return trained

    def write_segment(self, folder: Path, vectors: Floats) -> None:
        """Write the vectors of a segment as codes."""
        n_axes = len(self.steps)
        codes = np.empty(vectors.shape, dtype=np.uint8)
        short = np.empty((len(vectors), n_axes), dtype=np.int8)
        lists = np.empty(len(vectors), dtype=np.int64)
        centroids = faiss.IndexFlatL2(n_axes)
        centroids.add(self.centroids)
        for start in range(0, len(vectors), BLOCK):
            projected = np.asarray(vectors[start : start + BLOCK]) @ self.axes
            rows, first = slice(start, start + len(projected)), np.ascontiguousarray(projected[:, :n_axes])
            lists[rows] = centroids.assign(first, 1).ravel()
            short[rows] = np.clip(np.rint(first / self.steps), -127, 127)
            projected[:, :n_axes] -= short[rows] * self.steps
            codes[rows] = np.clip((projected - self.smallest) * (np.float32(255) / self.widths), 0, 255)
        numbers = np.argsort(lists, kind="stable")
        np.save(folder / CODES, codes)
        np.save(folder / SHORT, short[numbers])
        np.save(folder / NUMBERS, numbers.astype(np.uint32))
        np.save(folder / PLACES, np.argsort(numbers).astype(np.uint32))
        np.save(folder / STARTS, np.searchsorted(lists[numbers], np.arange(len(self.centroids) + 1)))


def _count_axes(variances: Floats) -> int:
    """Return how many principal axes leave little of the variance of inner products unexplained."""
    explained = np.cumsum(variances**2)
    enough = int(np.searchsorted(explained, explained[-1] * (1 - UNEXPLAINED))) + 1
    return min(len(variances), -(-enough // AXES_STEP) * AXES_STEP)


class ScanSegment:
    """The codes of one segment, memory-mapped."""

    def __init__(self, folder: Path, n: int, trained: TrainedCodes) -> None:
        self.folder, self.n, self.trained = folder, n, trained
        self.short = map_array(folder / SHORT, np.int8, dimensions=2, rows=n, hint=REBUILD)
        self.codes = map_array(folder / CODES, np.uint8, dimensions=2, rows=n, hint=REBUILD)
        self.numbers = map_array(folder / NUMBERS, np.uint32, rows=n, hint=REBUILD)
        self.starts = map_array(folder / STARTS, np.int64, rows=len(trained.centroids) + 1, hint=REBUILD)
        self.places = map_array(folder / PLACES, np.uint32, rows=n, hint=REBUILD)
        if (self.codes.shape[1], self.short.shape[1]) != (len(trained.axes), len(trained.steps)):
            raise make_damage_error(folder, "its codes do not match the index")
        if (self.starts[0], self.starts[-1]) != (0, n) or np.any(self.starts[1:] < self.starts[:-1]):
            raise make_damage_error(folder / STARTS, "its numbers are not in order")


def nearest(segments: Sequence[tuple[ScanSegment, int]], queries: Floats, k: int, n_probe: int) -> tuple[Ids, Floats]:
    """Return the candidates of each query, at least k, and their scores. Each segment comes with the id of its first
    vector.
    """
    start_threads()
    trained = segments[0][0].trained
    projected = (queries @ trained.axes)[:, : len(trained.steps)]
    products = projected @ trained.centroids.T
    n_probe = min(n_probe, products.shape[1])
    visited = np.argpartition(-products, n_probe - 1, axis=1)[:, :n_probe]
    order = np.argsort(visited, axis=None, kind="stable")
    lists, starts = np.unique(visited.ravel()[order], return_index=True)
    ends, owners = np.append(starts, len(order)), order // n_probe
    wanted = min(max(CANDIDATES, 2 * k), sum(segment.n for segment, _ in segments))
    threads = min(numba.get_num_threads(), len(lists))
    ids = np.full((threads, len(queries), wanted), np.iinfo(np.int64).max, dtype=np.int64)
    values = np.full(ids.shape, -np.inf, dtype=np.float32)
    scaled = np.ascontiguousarray(projected * trained.steps)
    for segment, first in segments:
        sound = _scan(segment.short, segment.numbers, segment.starts, first, scaled, lists, ends, owners, ids, values)
        if not sound.all():
            raise make_damage_error(segment.folder / NUMBERS, f"it names vectors that do not exist: of {segment.n:,}")
    _merge(ids, values)
    candidates = np.where(np.isinf(values[0]), NOTHING, ids[0])
    scores = np.full(candidates.shape, -np.inf, dtype=np.float32)
    for segment, first in segments:
        score(segment, queries, candidates - first, scores)
    return candidates, scores


def score(segment: ScanSegment, queries: Floats, numbers: Ids, scores: Floats) -> None:
    """Fill in the inner products of each query with those of the numbered vectors that are in the segment."""
    start_threads()
    trained = segment.trained
    projected = queries @ trained.axes
    short = np.ascontiguousarray(projected[:, : len(trained.steps)] * trained.steps)
    full = projected * (trained.widths / np.float32(255))
    constants = projected @ trained.smallest + full.sum(axis=1) / np.float32(2)
    if not _score(segment.short, segment.places, segment.codes, short, full, constants, numbers, scores).all():
        raise make_damage_error(segment.folder / PLACES, f"it names codes that do not exist: of {segment.n:,}")


@numba.njit(parallel=True, cache=True, fastmath={"reassoc", "contract"})
def _scan(short, numbers, starts, first, queries, lists, ends, owners, ids, values):  # type: ignore[no-untyped-def]
    """Keep the best candidates of each query among the lists of one segment, in one heap per thread and query."""
    threads, n_axes = len(ids), short.shape[1]
    sound = np.ones(threads, dtype=np.bool_)
    for thread in numba.prange(threads):
        rows = np.empty((ROWS, n_axes), dtype=np.float32)
        for visit in range(thread, len(lists), threads):
            stop = starts[lists[visit] + 1]
            for start in range(starts[lists[visit]], stop, ROWS):
                n_rows = min(ROWS, stop - start)
                for row in range(n_rows):
                    if numbers[start + row] >= len(numbers):
                        sound[thread] = False
                    for axis in range(n_axes):
                        rows[row, axis] = short[start + row, axis]
                for place in range(ends[visit], ends[visit + 1]):
                    query = owners[place]
                    bar = values[thread, query, 0]
                    for row in range(n_rows):
                        value = np.float32(0)
                        for axis in range(n_axes):
                            value += queries[query, axis] * rows[row, axis]
                        if value >= bar:
                            _keep(values[thread, query], ids[thread, query], value, first + numbers[start + row])
                            bar = values[thread, query, 0]
    return sound


@numba.njit(cache=True)
def _keep(values, ids, value, id):  # type: ignore[no-untyped-def]
    """Replace the worst candidate, on top of the heap, if this one is better; of equal ones, the lower id is better."""
    if value < values[0] or (value == values[0] and id >= ids[0]):
        return
    place, n = 0, len(values)
    while 2 * place + 1 < n:
        child = 2 * place + 1
        other = child + 1
        if other < n and (
            values[other] < values[child] or (values[other] == values[child] and ids[other] > ids[child])
        ):
            child = other
        if values[child] > value or (values[child] == value and ids[child] < id):
            break
        values[place], ids[place] = values[child], ids[child]
        place = child
    values[place], ids[place] = value, id


@numba.njit(parallel=True, cache=True)
def _merge(ids, values):  # type: ignore[no-untyped-def]
    """Move the best candidates of all threads to the first heap of each query."""
    for query in numba.prange(ids.shape[1]):
        for thread in range(1, len(ids)):
            for place in range(ids.shape[2]):
                _keep(values[0, query], ids[0, query], values[thread, query, place], ids[thread, query, place])


@numba.njit(parallel=True, cache=True, fastmath={"reassoc", "contract"})
def _score(short, places, codes, short_queries, queries, constants, numbers, scores):  # type: ignore[no-untyped-def]
    sound = np.ones(len(numbers), dtype=np.bool_)
    for query in numba.prange(len(numbers)):
        for column in range(numbers.shape[1]):
            number = numbers[query, column]
            if number < 0 or number >= len(codes):
                continue
            place = places[number]
            if place >= len(short):
                sound[query] = False
                continue
            value = np.float32(0)
            for axis in range(short.shape[1]):
                value += short_queries[query, axis] * short[place, axis]
            for axis in range(codes.shape[1]):
                value += queries[query, axis] * codes[number, axis]
            scores[query, column] = constants[query] + value
    return sound

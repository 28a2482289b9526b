# SPDX-License-Identifier: Apache-2.0
"""Postings of one segment, for BM25 and TF-IDF: the texts that contain each word, in memory-mapped arrays.

score(q, d) = Σ_{w ∈ q} idf(w) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · |d| / avgdl)),
idf(w) = log(1 + (N − df + ½) / (df + ½)), with N, df and avgdl of the whole index, so that scores of segments agree.

The part of a score that does not depend on the query (its impact) is stored for every posting, so a search only sums.
It depends on avgdl, so it is computed again when pairs are added: one pass over the counts, no rebuild.

Words are 64-bit hashes, so no vocabulary has to be loaded; the chance that any two of ten million words collide is
about one in 400,000.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from interloq.data.files.arrays import map_array
from interloq.data.files.durable import atomic_file
from interloq.models.numba_threads import start_threads
from interloq.retrieve.folder.folder_files import REBUILD, make_damage_error
from interloq.retrieve.retriever import NOTHING, Floats, Ids, Words
from interloq.signature import fingerprint

PARTS = {"terms": np.uint64, "starts": np.int64, "texts": np.uint32, "counts": np.uint16, "lengths": np.int32}


@dataclass(frozen=True, slots=True)
class Postings:
    """The texts that contain each term, and how often."""

    terms: NDArray[np.uint64]  # sorted
    starts: NDArray[np.int64]  # start of each term's postings, and the end of the last
    texts: NDArray[np.uint32]  # unsigned, so that the inner loop needs no check for negative indices
    counts: NDArray[np.uint16]
    lengths: NDArray[np.int32]  # words per text

    @classmethod
    def of(cls, words: Words) -> Postings:
        """Return the postings of these texts."""
        owner = np.repeat(np.arange(len(words), dtype=np.uint32), np.diff(words.ends))
        order = np.argsort(words.terms, kind="stable")
        terms, starts = np.unique(words.terms[order], return_index=True)
        counts = np.minimum(words.counts[order], np.iinfo(np.uint16).max).astype(np.uint16)
        return cls(terms, np.append(starts, len(order)), owner[order], counts, words.lengths)

    def save(self, folder: Path) -> None:
        """Write the postings to a folder, one file per part."""
        for part in PARTS:
            np.save(folder / f"{part}.npy", getattr(self, part))

    @classmethod
    def open(cls, folder: Path) -> Postings:
        """Open postings. Starts and ends are checked here, the numbers of texts only when visited."""
        opened = cls(*(map_array(folder / f"{part}.npy", dtype, hint=REBUILD) for part, dtype in PARTS.items()))
        starts, n = opened.starts, len(opened.texts)
        if len(starts) != len(opened.terms) + 1 or len(opened.counts) != n:
            raise make_damage_error(folder, "its arrays do not match")
        if (starts[0], starts[-1]) != (0, n) or np.any(starts[1:] < starts[:-1]):
            raise make_damage_error(folder / "starts.npy", "its numbers are not in order")
        return opened

    def find(self, terms: NDArray[np.uint64]) -> tuple[Ids, Ids]:
        """Return start and end of the postings of these terms; both 0 for unknown terms."""
        place = np.searchsorted(self.terms, terms)
        inside = np.minimum(place, max(len(self.terms) - 1, 0))
        here = (self.terms[inside] == terms) if len(self.terms) else np.zeros(len(terms), dtype=bool)
        starts = np.where(here, self.starts[inside], 0)
        return starts, np.where(here, self.starts[inside + 1], 0) if len(self.terms) else starts


@dataclass(frozen=True, slots=True)
class PostingRanking:
    """The constants of BM25 for a whole index."""

    n: int
    mean_length: float
    k1: float
    b: float

    @property
    def impacts_file(self) -> str:
        """File name of the impacts, with a hash of the constants they were computed with."""
        return f"impacts-{fingerprint(repr((self.k1, self.b, self.mean_length)))}.npy"

    def idf(self, df: NDArray[Any]) -> NDArray[np.float64]:
        """Return the inverse document frequency of terms from their document frequency."""
        return np.asarray(np.log1p((self.n - df + 0.5) / (df + 0.5)))

    def weights(self, queries: Words, df: Ids) -> NDArray[np.float64]:
        """Return the factor of each query word's impacts."""
        return np.asarray(self.idf(df) * queries.counts * (self.k1 + 1))

    def impacts(self, postings: Postings) -> NDArray[np.float32]:
        """Return the part of each posting's score that does not depend on the query."""
        norms = self.k1 * (1 - self.b + self.b * postings.lengths / self.mean_length)
        counts = postings.counts.astype(np.float32)
        return np.asarray(counts / (counts + norms.astype(np.float32)[postings.texts]), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class CosineRanking:
    """The constants of TF-IDF cosines for a whole index; see `interloq.retrieve.tf_idf`."""

    n: int
    terms: NDArray[np.uint64]  # of all segments, sorted
    df: Ids

    @property
    def impacts_file(self) -> str:
        """File name of the impacts, with a hash of the constants they were computed with."""
        return f"impacts-{fingerprint('cosine', str(self.n), self.terms.tobytes(), self.df.tobytes())}.npy"

    def idf(self, df: NDArray[Any]) -> NDArray[np.float64]:
        """Return the smoothed inverse document frequency of terms from their document frequency."""
        return np.asarray(1 + np.log((1 + self.n) / (1 + df)))

    def weights(self, queries: Words, df: Ids) -> NDArray[np.float64]:
        """Return the words' weights in the queries' unit vectors."""
        return _unit(self.idf(df) * queries.counts, np.repeat(np.arange(len(queries)), np.diff(queries.ends)))

    def impacts(self, postings: Postings) -> NDArray[np.float32]:
        """Return the words' weights in the texts' unit vectors."""
        idf = self.idf(self.df[np.searchsorted(self.terms, postings.terms)])
        weights = np.repeat(idf, np.diff(postings.starts)) * postings.counts
        return _unit(weights, postings.texts).astype(np.float32)


Ranking = PostingRanking | CosineRanking


def _unit(weights: NDArray[np.float64], owners: NDArray[Any]) -> NDArray[np.float64]:
    """Return the weights divided by the norm of their text's vector."""
    return np.asarray(weights / np.sqrt(np.bincount(owners, weights**2))[owners])


class PostingSegment:
    """The postings of one segment, memory-mapped, and their impacts for one ranking."""

    def __init__(self, folder: Path, ranking: Ranking) -> None:
        self.folder, self.postings = folder, Postings.open(folder)
        stored = folder / ranking.impacts_file
        if stored.exists():
            self.impacts = map_array(stored, np.float32, rows=len(self.postings.texts), hint=REBUILD)
        else:  # adding pairs was interrupted
            self.impacts = _impacts_of(folder, self.postings, ranking)


def rank(folders: Iterable[Path], *, k1: float, b: float) -> PostingRanking:
    """Return the constants for an index with these segments."""
    folders = list(folders)
    lengths = [map_array(folder / "lengths.npy", np.int32, hint=REBUILD) for folder in folders]
    for folder, part in zip(folders, lengths, strict=True):
        if part.min(initial=0) < 0:
            raise make_damage_error(folder / "lengths.npy", "a text cannot have a negative length")
    n, total = sum(map(len, lengths)), sum(int(part.sum(dtype=np.int64)) for part in lengths)
    return PostingRanking(n, total / n if total else math.inf, k1, b)


def rank_cosines(folders: Iterable[Path]) -> CosineRanking:
    """Return the constants of TF-IDF for an index with these segments."""
    opened = list(map(Postings.open, folders))
    every = [np.zeros(0, np.uint64), *(part.terms for part in opened)]
    terms, which = np.unique(np.concatenate(every), return_inverse=True)
    holders = np.concatenate([np.zeros(0, np.int64), *(np.diff(part.starts) for part in opened)])
    df = np.bincount(which, holders, minlength=len(terms)).astype(np.int64)
    return CosineRanking(sum(len(part.lengths) for part in opened), terms, df)


def _impacts_of(folder: Path, postings: Postings, ranking: Ranking) -> NDArray[np.float32]:
    if postings.texts.max(initial=0) >= max(1, len(postings.lengths)):
        raise make_damage_error(
            folder / "texts.npy", f"it names text {postings.texts.max():,} of {len(postings.lengths):,}"
        )
    return ranking.impacts(postings)


def store_impacts(folder: Path, ranking: Ranking) -> None:
    """Compute and store impacts for all searches; remove the impacts of other rankings."""
    target = folder / ranking.impacts_file
    if not target.exists():
        with atomic_file(target) as file:
            np.save(file, _impacts_of(folder, Postings.open(folder), ranking))
    for path in folder.glob("impacts-*.npy"):
        if path != target:
            path.unlink()


def search(segments: list[PostingSegment], queries: Words, ranking: Ranking, k: int) -> tuple[Ids, Floats]:
    """Return the k best texts of each segment, as columns side by side; repeated words of a query count repeatedly."""
    start_threads()
    weights, places = _weights(segments, queries, ranking)
    ids, scores, first = [], [], 0
    for segment, (starts, stops) in zip(segments, places, strict=True):
        n = len(segment.postings.lengths)
        part_ids, part_scores, sound = _top(
            segment.postings.texts, segment.impacts, n, starts, stops, weights, queries.ends, min(k, n)
        )
        if not sound.all():
            raise make_damage_error(segment.folder / "texts.npy", f"it names texts that do not exist: there are {n:,}")
        ids.append(np.where(part_ids == NOTHING, NOTHING, part_ids + first))
        scores.append(part_scores)
        first += n
    return np.concatenate(ids, axis=1), np.concatenate(scores, axis=1)


def score(segments: list[PostingSegment], queries: Words, ranking: Ranking, ids: Ids) -> Floats:
    """Return the scores of given texts."""
    start_threads()
    weights, places = _weights(segments, queries, ranking)
    scores = np.zeros(ids.shape, dtype=np.float32)
    first = 0
    for segment, (starts, stops) in zip(segments, places, strict=True):
        last = first + len(segment.postings.lengths)
        inside = np.where((ids >= first) & (ids < last), ids - first, NOTHING)
        _score_given(segment.postings.texts, segment.impacts, starts, stops, weights, queries.ends, inside, scores)
        first = last
    return scores


def _weights(
    segments: list[PostingSegment], queries: Words, ranking: Ranking
) -> tuple[NDArray[np.float32], list[tuple[Ids, Ids]]]:
    places, df = [], np.zeros(len(queries.terms), dtype=np.int64)
    for segment in segments:
        starts, stops = segment.postings.find(queries.terms)
        places.append((starts, stops))
        df += stops - starts
    return ranking.weights(queries, df).astype(np.float32), places


@numba.njit(parallel=True, cache=True)
def _top(texts, impacts, n_texts, starts, stops, weights, ends, k):  # type: ignore[no-untyped-def]
    """Add up impacts word by word, then keep the k best."""
    n_queries = len(ends) - 1
    best_ids = np.full((n_queries, k), -1, dtype=np.int64)
    best_scores = np.full((n_queries, k), -np.inf, dtype=np.float32)
    sound = np.ones(n_queries, dtype=np.bool_)
    for query in numba.prange(n_queries):
        scores = np.zeros(n_texts, dtype=np.float32)
        for term in range(ends[query], ends[query + 1]):
            weight = weights[term]
            holders = texts[starts[term] : stops[term]]
            gains = impacts[starts[term] : stops[term]]
            largest = np.uint32(0)
            for i in range(len(holders)):  # a pass of its own is cheaper than a check at every sum
                largest = max(largest, holders[i])
            if largest >= n_texts and len(holders):
                sound[query] = False
                continue
            for i in range(len(holders)):
                scores[holders[i]] += weight * gains[i]
        keep_best(scores, best_ids[query], best_scores[query])
    return best_ids, best_scores, sound


@numba.njit(cache=True)
def keep_best(scores, ids, values):  # type: ignore[no-untyped-def]
    """Fill a heap with the worst score on top; if scores are equal, the earlier text is kept."""
    k, filled = len(ids), 0
    bar = np.float32(0)  # scores must exceed it
    for text in range(len(scores)):
        score = scores[text]
        if score <= bar:
            continue
        if filled < k:
            place = filled
            filled += 1
            while place > 0 and score <= values[(place - 1) // 2]:
                values[place], ids[place] = values[(place - 1) // 2], ids[(place - 1) // 2]
                place = (place - 1) // 2
        else:
            place = 0
            while 2 * place + 1 < k:
                child = 2 * place + 1
                other = child + 1
                if other < k and (
                    values[other] < values[child] or (values[other] == values[child] and ids[other] > ids[child])
                ):
                    child = other
                if values[child] >= score:
                    break
                values[place], ids[place] = values[child], ids[child]
                place = child
        values[place], ids[place] = score, text
        if filled == k:
            bar = values[0]


@numba.njit(parallel=True, cache=True)
def _score_given(texts, impacts, starts, stops, weights, ends, ids, scores):  # type: ignore[no-untyped-def]
    """Look up each text among the postings of each word, which are sorted by text."""
    for query in numba.prange(ids.shape[0]):
        for column in range(ids.shape[1]):
            text = ids[query, column]
            if text < 0:
                continue
            for term in range(ends[query], ends[query + 1]):
                low, high = starts[term], stops[term]
                while low < high:
                    middle = (low + high) // 2
                    if texts[middle] < text:
                        low = middle + 1
                    else:
                        high = middle
                if low < stops[term] and texts[low] == text:
                    scores[query, column] += weights[term] * impacts[low]

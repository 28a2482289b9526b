"""BM25 postings of one segment: for every word the texts that hold it, in arrays that are memory-mapped.

score(q, d) = Σ_{w ∈ q} idf(w) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · |d| / avgdl)),
idf(w) = log(1 + (N − df + ½) / (df + ½)), with N, df and avgdl of the whole index, so that segments add up.

The part of a score that does not depend on the query is kept for every posting (its impact), so searching only adds up.
It depends on avgdl, so adding pairs means computing it again: one pass over the counts, no rebuild.

Words are 64-bit hashes: no vocabulary has to be loaded, and two words of a log of ten million clash with a chance of
about one in 400,000.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from interloq.data.files import replacing
from interloq.models.numba_threads import start_threads
from interloq.retrieve.retriever import NOTHING, Floats, Ids, Words
from interloq.signature import fingerprint

PARTS = ("terms", "starts", "texts", "counts", "lengths")


@dataclass(frozen=True, slots=True)
class Postings:
    terms: NDArray[np.uint64]  # sorted
    starts: NDArray[np.int64]  # of each term's postings, and the end of the last
    texts: NDArray[np.uint32]  # unsigned: an index that cannot be negative needs no check in the inner loop
    counts: NDArray[np.uint16]
    lengths: NDArray[np.int32]  # of each text

    @classmethod
    def of(cls, words: Words) -> Postings:
        owner = np.repeat(np.arange(len(words), dtype=np.uint32), np.diff(words.ends))
        order = np.argsort(words.terms, kind="stable")
        terms, starts = np.unique(words.terms[order], return_index=True)
        counts = np.minimum(words.counts[order], np.iinfo(np.uint16).max).astype(np.uint16)
        return cls(terms, np.append(starts, len(order)), owner[order], counts, words.lengths)

    def save(self, folder: Path) -> None:
        for part in PARTS:
            np.save(folder / f"{part}.npy", getattr(self, part))

    @classmethod
    def open(cls, folder: Path) -> Postings:
        return cls(*(np.load(folder / f"{part}.npy", mmap_mode="r") for part in PARTS))

    def find(self, terms: NDArray[np.uint64]) -> tuple[Ids, Ids]:
        """Where the postings of these terms begin and end; empty for a term that is not here."""
        place = np.searchsorted(self.terms, terms)
        inside = np.minimum(place, max(len(self.terms) - 1, 0))
        here = (self.terms[inside] == terms) if len(self.terms) else np.zeros(len(terms), dtype=bool)
        starts = np.where(here, self.starts[inside], 0)
        return starts, np.where(here, self.starts[inside + 1], 0) if len(self.terms) else starts


@dataclass(frozen=True, slots=True)
class Ranking:
    """The constants of BM25 over a whole index."""

    n: int
    mean_length: float
    k1: float
    b: float

    @property
    def impacts_file(self) -> str:
        """Impacts are good for one ranking only, so its constants are in their name."""
        return f"impacts-{fingerprint(repr((self.k1, self.b, self.mean_length)))}.npy"

    def idf(self, df: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(np.log1p((self.n - df + 0.5) / (df + 0.5)))


class Segment:
    """The postings of one segment, opened without reading them, and their impacts under one ranking."""

    def __init__(self, folder: Path, ranking: Ranking) -> None:
        self.postings = Postings.open(folder)
        stored = folder / ranking.impacts_file
        # not there only where adding was cut off before its end
        self.impacts = np.load(stored, mmap_mode="r") if stored.exists() else impacts(self.postings, ranking)


def rank(folders: list[Path], *, k1: float, b: float) -> Ranking:
    """The constants of an index made of these segments."""
    lengths = [np.load(folder / "lengths.npy", mmap_mode="r") for folder in folders]
    n, total = sum(map(len, lengths)), sum(int(part.sum(dtype=np.int64)) for part in lengths)
    return Ranking(n, total / n if total else math.inf, k1, b)


def impacts(postings: Postings, ranking: Ranking) -> NDArray[np.float32]:
    norms = ranking.k1 * (1 - ranking.b + ranking.b * postings.lengths / ranking.mean_length)
    counts = postings.counts.astype(np.float32)
    return np.asarray(counts / (counts + norms.astype(np.float32)[postings.texts]), dtype=np.float32)


def store_impacts(folder: Path, ranking: Ranking) -> None:
    """Compute impacts once for all who search; those of an older ranking go."""
    target = folder / ranking.impacts_file
    if not target.exists():
        with replacing(target) as file:
            np.save(file, impacts(Postings.open(folder), ranking))
    for path in folder.glob("impacts-*.npy"):
        if path != target:
            path.unlink()


def search(segments: list[Segment], queries: Words, ranking: Ranking, k: int) -> tuple[Ids, Floats]:
    """The k best texts of every segment, side by side; a repeated word of the query counts as often as it stands."""
    start_threads()
    weights, found = _weights(segments, queries, ranking)
    ids, scores, first = [], [], 0
    for segment, (starts, stops) in zip(segments, found, strict=True):
        n = len(segment.postings.lengths)
        part_ids, part_scores = _top(
            segment.postings.texts, segment.impacts, n, starts, stops, weights, queries.ends, min(k, n)
        )
        ids.append(np.where(part_ids == NOTHING, NOTHING, part_ids + first))
        scores.append(part_scores)
        first += n
    return np.concatenate(ids, axis=1), np.concatenate(scores, axis=1)


def score(segments: list[Segment], queries: Words, ranking: Ranking, ids: Ids) -> Floats:
    """The scores of given texts."""
    start_threads()
    weights, found = _weights(segments, queries, ranking)
    scores = np.zeros(ids.shape, dtype=np.float32)
    first = 0
    for segment, (starts, stops) in zip(segments, found, strict=True):
        last = first + len(segment.postings.lengths)
        inside = np.where((ids >= first) & (ids < last), ids - first, NOTHING)
        _score_given(segment.postings.texts, segment.impacts, starts, stops, weights, queries.ends, inside, scores)
        first = last
    return scores


def _weights(
    segments: list[Segment], queries: Words, ranking: Ranking
) -> tuple[NDArray[np.float32], list[tuple[Ids, Ids]]]:
    found = [segment.postings.find(queries.terms) for segment in segments]
    df = sum((stops - starts for starts, stops in found), start=np.zeros(len(queries.terms), dtype=np.int64))
    return (ranking.idf(df) * queries.counts * (ranking.k1 + 1)).astype(np.float32), found


@numba.njit(parallel=True, cache=True)
def _top(texts, impacts, n_texts, starts, stops, weights, ends, k):  # type: ignore[no-untyped-def]
    """Add up impacts word by word, then keep the k best."""
    n_queries = len(ends) - 1
    best_ids = np.full((n_queries, k), -1, dtype=np.int64)
    best_scores = np.full((n_queries, k), -np.inf, dtype=np.float32)
    for query in numba.prange(n_queries):
        scores = np.zeros(n_texts, dtype=np.float32)
        for term in range(ends[query], ends[query + 1]):
            weight = weights[term]
            holders = texts[starts[term] : stops[term]]
            gains = impacts[starts[term] : stops[term]]
            for i in range(len(holders)):
                scores[holders[i]] += weight * gains[i]
        _keep_best(scores, best_ids[query], best_scores[query])
    return best_ids, best_scores


@numba.njit(cache=True)
def _keep_best(scores, ids, values):  # type: ignore[no-untyped-def]
    """A heap with the worst on top; of equal scores the earlier text is kept."""
    k, filled = len(ids), 0
    bar = np.float32(0)  # what a score must exceed
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
    """Look each text up among the postings of each word, which are sorted by text."""
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

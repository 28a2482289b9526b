# SPDX-License-Identifier: Apache-2.0
"""Texts in Qdrant's format: dense vectors, or sparse vectors of word weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.retrieve.retriever import Encoded, Field, Words


@dataclass(frozen=True, slots=True)
class PointRanking:
    """The constants of BM25."""

    k1: float
    b: float
    mean_lengths: Mapping[str, float]  # per field


def as_stored(field: Field, encoded: Encoded, part: slice, ranking: PointRanking | None) -> list[Any]:
    """A part of the texts as vectors of points."""
    if not isinstance(encoded, Words):
        return list(encoded[part])
    if ranking is None:
        raise ValueError("words need a ranking")
    first, last = encoded.ends[part.start], encoded.ends[part.stop]
    ends = encoded.ends[part.start : part.stop + 1] - first
    words = Words(encoded.terms[first:last], encoded.counts[first:last], ends)
    return list(_sparse(words, weights(words, ranking, field)))


def as_queries(encoded: Encoded) -> list[Any]:
    """Queries as counted words or as vectors."""
    if isinstance(encoded, Words):
        return list(_sparse(encoded, encoded.counts.astype(np.float64)))
    return list(np.ascontiguousarray(encoded))


def weights(words: Words, ranking: PointRanking, field: Field) -> NDArray[np.float64]:
    """BM25 weight of every word without idf, which the server multiplies in."""
    length = words.lengths / ranking.mean_lengths.get(field, 1.0)
    norms = np.repeat(ranking.k1 * (1 - ranking.b + ranking.b * length), np.diff(words.ends))
    return np.asarray(words.counts * (ranking.k1 + 1) / (words.counts + norms))


def fold(terms: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """64-bit hashes of words as the 32-bit numbers that Qdrant accepts."""
    return ((terms ^ (terms >> np.uint64(32))) & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _sparse(words: Words, values: NDArray[np.float64]) -> Iterator[dict[str, Any]]:
    indices = fold(words.terms)
    for start, stop in zip(words.ends[:-1], words.ends[1:], strict=True):
        # words of a text that share a number count as one, because the server accepts each number once
        distinct, places = np.unique(indices[start:stop], return_inverse=True)
        summed = np.bincount(places, weights=values[start:stop], minlength=len(distinct))
        yield {"indices": distinct, "values": summed.astype(np.float32)}

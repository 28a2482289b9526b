# SPDX-License-Identifier: Apache-2.0
"""Pairs with similar utterances by Jaccard similarity, the share of common words among all words, from a log in memory.

REAM# (Gao et al., 2021) chooses its candidates this way. It needs no index; for large logs an index is faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from interloq.records import Pair
from interloq.retrieve.leaks import words
from interloq.retrieve.retriever import Hit, Query

NUMBERS = 2**24  # similarities in memory at a time


class JaccardSearch:
    """Finds the pairs of a log whose utterances share the largest part of their words with a query."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self.pairs = list(pairs)
        texts = [pair.utterance for pair in self.pairs]
        known = dict.fromkeys(word for text in texts for word in words(text))
        self._columns = {word: column for column, word in enumerate(known)}
        self._texts = self._matrix(texts)
        self._sizes = np.asarray(self._texts.sum(axis=1)).ravel()

    def search(self, queries: Sequence[Query], k: int = 15) -> list[list[Hit]]:
        """The k most similar pairs for each query, best first; none that share no word with it."""
        step = max(1, NUMBERS // max(1, len(self.pairs)))
        found: list[list[Hit]] = []
        for start in range(0, len(queries), step):
            texts = [query.utterance for query in queries[start : start + step]]
            found += [self._best(row, k) for row in self._similarities(texts)]
        return found

    def _similarities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        shared = (self._matrix(texts) @ self._texts.T).toarray()
        sizes = np.array([len(words(text)) for text in texts], dtype=np.float64)
        return np.asarray(shared / np.maximum(sizes[:, None] + self._sizes - shared, 1))

    def _best(self, row: NDArray[np.float64], k: int) -> list[Hit]:
        least = np.partition(row, -k)[-k] if k < len(row) else 0.0
        places = np.flatnonzero((row >= least) & (row > 0))
        order = places[np.argsort(-row[places], kind="stable")][:k]  # ties: the earlier pair
        return [Hit(self.pairs[i], float(row[i])) for i in order.tolist()]

    def _matrix(self, texts: Sequence[str]) -> Any:
        """One row of ones per text, one column per word of the log; other words are skipped."""
        rows = [[self._columns[word] for word in words(text) if word in self._columns] for text in texts]
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.fromiter((column for row in rows for column in row), dtype=np.int64, count=ends[-1])
        return sparse.csr_array((np.ones(len(columns)), columns, ends), shape=(len(texts), max(1, len(self._columns))))

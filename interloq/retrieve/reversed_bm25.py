"""BM25 the other way round, as υBLEU's program has it: the test items are indexed, every line of the log is a query.

idf and mean length come from the test items alone (100 in the paper), so a word that no test item holds counts nothing
and long pairs score high. Use it only to repeat published figures: the papers' text means `bm25` over the log.

score(item, pair) = Σ_{w ∈ pair} idf(w) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · |item| / avgdl)), tf that of the item.

The log is read once for each search, in pieces; only the best pairs of each item are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from interloq.errors import InputError
from interloq.records import Pair
from interloq.retrieve.bm25 import Bm25
from interloq.retrieve.retriever import NOTHING, Field, Floats, Hit, Ids, Query, Words, best, fields, joint

PIECE = 8_192  # pairs scored at a time


@dataclass(frozen=True)
class ReversedBm25:
    """Searched like an index. `items` are all test items: they set idf; `pairs` opens the log anew."""

    items: tuple[Query, ...]
    pairs: Callable[[], Iterable[Pair]]
    retriever: Bm25

    def search(self, queries: Sequence[Query], k: int = 15) -> list[list[Hit]]:
        """The k pairs of the log with the highest score for each item, best first."""
        places = [self._place(query) for query in queries]
        ids: Ids = np.full((len(queries), k), NOTHING, dtype=np.int64)
        scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        held: dict[int, Pair] = {}
        first = 0
        for piece in _pieces(self.pairs()):
            new = self._scores(piece)[places]
            own = np.broadcast_to(np.arange(first, first + len(piece)), new.shape)
            ids, scores = best(np.concatenate([ids, own], axis=1), np.concatenate([scores, new], axis=1), k)
            held.update(enumerate(piece, start=first))
            held = {id: held[id] for id in np.unique(ids).tolist() if id != NOTHING}
            first += len(piece)
        return [
            [Hit(held[id], float(score)) for id, score in zip(*row, strict=True) if score > 0]
            for row in zip(ids.tolist(), scores.tolist(), strict=True)
        ]

    def _place(self, query: Query) -> int:
        place = self._places.get(query)
        if place is None:
            raise InputError(
                "reversed BM25 can only be searched for its own test items", cure="build it anew with them"
            )
        return place

    @cached_property
    def _places(self) -> dict[Query, int]:
        return {query: place for place, query in enumerate(self.items)}

    @cached_property
    def _sides(self) -> dict[Field, _Side]:
        texts = {field: [getattr(item, field) for item in self.items] for field in fields(self.retriever.target)}
        return {field: _Side(self.retriever.encode(each), self.retriever) for field, each in texts.items()}

    def _scores(self, piece: Sequence[Pair]) -> Floats:
        """Items × pairs."""
        sides = [
            side.scores(self.retriever.encode([getattr(pair, field) for pair in piece]))
            for field, side in self._sides.items()
        ]
        if len(sides) == 1:
            return sides[0]
        return joint(*sides, alpha=self.retriever.alpha, epsilon=self.retriever.epsilon)


class _Side:
    """What each word of the items is worth, for the utterances or for the responses."""

    def __init__(self, items: Words, ranking: Bm25) -> None:
        self.terms, columns, df = np.unique(items.terms, return_inverse=True, return_counts=True)
        n, lengths = len(items), items.lengths
        mean = lengths.mean() if lengths.any() else 1.0
        norms = ranking.k1 * (1 - ranking.b + ranking.b * lengths / mean)
        rows = np.repeat(np.arange(n), np.diff(items.ends))
        idf = np.log1p((n - df + 0.5) / (df + 0.5))
        self.worth = np.zeros((n, len(self.terms)))
        self.worth[rows, columns] = idf[columns] * items.counts * (ranking.k1 + 1) / (items.counts + norms[rows])

    def scores(self, texts: Words) -> Floats:
        """Items × texts; a word that a text holds twice counts twice."""
        from scipy.sparse import csr_array

        if not len(self.terms):
            return np.zeros((len(self.worth), len(texts)), dtype=np.float32)
        places = np.minimum(np.searchsorted(self.terms, texts.terms), len(self.terms) - 1)
        counts = np.where(self.terms[places] == texts.terms, texts.counts, 0).astype(float)
        held = csr_array((counts, places, texts.ends), shape=(len(texts), len(self.terms)))
        return np.asarray((held @ self.worth.T).T, dtype=np.float32)


def _pieces(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    iterator = iter(pairs)
    while piece := list(islice(iterator, PIECE)):
        yield piece

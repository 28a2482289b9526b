"""An index: a retriever that compares texts, and a home that stores pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from interloq.errors import InputError
from interloq.records import Pair
from interloq.registry import create
from interloq.retrieve.home_address import create_home, open_home
from interloq.retrieve.retriever import (
    NOTHING,
    Encoded,
    Field,
    Floats,
    Hit,
    Home,
    Ids,
    Query,
    Retriever,
    Words,
    best,
    fields,
    joint,
)

SEGMENT = 1_000_000  # pairs stored at a time: 1.5 GB of 384-d vectors while they are sorted into lists
QUERIES = 1_024  # searched at a time
CANDIDATES = 1_000  # of each side, looked at again when both sides count


@dataclass(frozen=True, slots=True)
class Index:
    """Add pairs, search them."""

    home: Home
    retriever: Retriever

    def add(
        self,
        pairs: Iterable[Pair],
        *,
        source: str,
        segment: int = SEGMENT,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Add the pairs of a source that are not in yet; a source that was cut off resumes where it stopped."""
        done = self.home.sources().get(source, 0)
        iterator = iter(pairs)
        skipped = sum(1 for _ in islice(iterator, done))
        if skipped < done:
            raise InputError(f"the source held {done} pairs before and now {skipped}", hint="name it as a new source")
        if progress:
            progress(skipped)
        added = 0
        for chunk in _chunks(iterator, segment):
            added += len(chunk)
            self.home.add(chunk, self._encoded(chunk), source=source, consumed=done + added)
            if progress:
                progress(len(chunk))
        self.home.finish()
        return added

    def search(self, queries: Sequence[Query], k: int = 15) -> list[list[Hit]]:
        """The k nearest pairs of each query, best first; none for a query that has nothing to compare."""
        if k < 1:
            raise InputError(f"k must be at least 1, got {k}")
        hits: list[list[Hit]] = []
        for start in range(0, len(queries), QUERIES):
            hits += self._search(queries[start : start + QUERIES], k)
        return hits

    def _encoded(self, pairs: Sequence[Pair]) -> dict[Field, Encoded]:
        return {
            field: self.retriever.encode([getattr(pair, field) for pair in pairs])
            for field in fields(self.retriever.target)
        }

    def _search(self, queries: Sequence[Query], k: int) -> list[list[Hit]]:
        k = min(k, len(self.home))
        if not k:
            return [[] for _ in queries]
        utterances = self.retriever.encode([query.utterance for query in queries])
        if self.retriever.target == "utterance":
            ids, scores = self.home.nearest("utterance", utterances, k)
        else:
            responses = self.retriever.encode([query.response for query in queries])
            ids, scores = self._both(utterances, responses, k)
        # what shares nothing with the query is not an answer to it, even where nothing better is left
        good = (ids != NOTHING) & (scores > 0) & _comparable(utterances)[:, None]
        pairs = iter(self.home.pairs(ids[good].tolist()))
        return [
            # scores first: zip must not take one pair too many
            [Hit(pair, score) for score, pair in zip(values[keep].tolist(), pairs, strict=False)]
            for values, keep in zip(scores, good, strict=True)
        ]

    def _both(self, utterances: Encoded, responses: Encoded, k: int) -> tuple[Ids, Floats]:
        """Candidates from either side, then the joint score of each."""
        m = min(max(CANDIDATES, 10 * k), len(self.home))
        sides: tuple[tuple[Field, Encoded], ...] = (("utterance", utterances), ("response", responses))
        ids = np.sort(np.concatenate([self.home.nearest(field, side, m)[0] for field, side in sides], axis=1), axis=1)
        ids[:, 1:][ids[:, 1:] == ids[:, :-1]] = NOTHING
        # a cosine below 0 counts as 0: two replies that are both unlike must not look alike
        near = [np.maximum(self.home.scores(field, side, ids), 0) for field, side in sides]
        scores = joint(*near, alpha=self.retriever.alpha, epsilon=self.retriever.epsilon)
        scores[ids == NOTHING] = -np.inf
        return best(ids, scores, k)


def create_index(
    home: str | Path,
    retriever: Retriever | str,
    *,
    expected: int = 0,
    exact_up_to: int | None = None,
    recall: float = 0.95,
) -> Index:
    """A new index, or the one that is there if it was made alike; `home` is a folder or a server's address."""
    built = create(retriever, kind="retriever") if isinstance(retriever, str) else retriever
    return Index(create_home(home, built, expected=expected, exact_up_to=exact_up_to, recall=recall), built)


def open_index(home: str | Path) -> Index:
    """An index that exists, with the retriever it was built with."""
    return Index(*open_home(home))


def _comparable(queries: Encoded) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if isinstance(queries, Words):
        return np.diff(queries.ends) > 0
    return np.asarray(np.abs(queries).max(axis=1, initial=0) > 0)


def _chunks(pairs: Iterator[Pair], size: int) -> Iterator[list[Pair]]:
    while chunk := list(islice(pairs, size)):
        yield chunk

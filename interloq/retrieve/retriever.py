# SPDX-License-Identifier: Apache-2.0
"""The two interfaces of retrieval: how texts are compared (a retriever) and where pairs are stored (a store).

A retriever encodes texts as vectors (`dense`) or weighted words (`bm25`). It is a frozen dataclass, independent of
storage. A store keeps pairs with their encoded texts, and finds the nearest. There are three: a folder
(`folder/folder_store.py`), Qdrant and PostgreSQL; further ones only need the methods of `Store`. `Index` (index.py)
combines the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from interloq.records import Pair

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
Field = Literal["utterance", "response"]
Target = Literal["utterance", "both"]
NOTHING = -1  # id that marks an empty position in a list of results


class Query(NamedTuple):
    """Texts to search for; the response is used only by retrievers with target `both`."""

    utterance: str
    response: str = ""


class Hit(NamedTuple):
    """A pair that was found, and its score."""

    pair: Pair
    score: float


@dataclass(frozen=True, slots=True)
class Words:
    """Texts as counted words: the words of text i are `[ends[i]:ends[i + 1]]`."""

    terms: NDArray[np.uint64]  # 64-bit hashes of words
    counts: NDArray[np.int32]
    ends: Ids

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Return the number of words in each text, including repeats."""
        totals = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        return np.diff(totals[self.ends]).astype(np.int32)

    def __len__(self) -> int:
        return len(self.ends) - 1


Encoded = Floats | Words


class Retriever(Protocol):
    """Compares texts."""

    @property
    def target(self) -> Target:
        """Return which texts of a pair are compared."""

    @property
    def alpha(self) -> float:
        """Return the weight of the response's similarity if both texts are compared."""

    @property
    def epsilon(self) -> float:
        """Return the constant that replaces the response's similarity, with weight 1 − alpha."""

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Return unit vectors (zeros for a text without a vector) or counted words."""

    def built_with(self) -> str:
        """Return the model, tokenizer and versions, which must be the same for the whole index, as the fields must."""


class Store(Protocol):
    """Stores pairs. Ids are positions: the first pair that was added is 0."""

    @property
    def where(self) -> str:
        """Its address for messages, without a password."""

    def add(self, pairs: Sequence[Pair], encoded: Mapping[Field, Encoded], *, source: str, consumed: int) -> None:
        """Store a batch completely or not at all, and record that `consumed` pairs of `source` are stored."""

    def nearest(self, field: Field, queries: Encoded, k: int) -> tuple[Ids, Floats]:
        """Return ids and scores of the k nearest pairs, best first, padded with NOTHING and -inf."""

    def scores(self, field: Field, queries: Encoded, ids: Ids) -> Floats:
        """Return the scores of given pairs for each query."""

    def pairs(self, ids: Sequence[int]) -> list[Pair]:
        """Return the pairs with these ids."""

    def sources(self) -> dict[str, int]:
        """Return the number of stored pairs per source."""

    def finish(self) -> None:
        """Make searches fast and measure their recall; called after the last batch."""

    def __len__(self) -> int: ...


@runtime_checkable
class ExclusiveStore(Protocol):
    """A store that one process locks while it adds; servers instead refuse batches that do not follow each other."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Let no other process write."""


def fields(target: Target) -> tuple[Field, ...]:
    """Return the texts of a pair that are compared."""
    return ("utterance",) if target == "utterance" else ("utterance", "response")


def joint(utterance: Floats, response: Floats, *, alpha: float, epsilon: float) -> Floats:
    """Return the similarity of both sides: sim_u · (α·sim_r + (1 − α)·ε). α = 1 gives the papers' plain product."""
    return np.asarray(utterance * (alpha * response + (1 - alpha) * epsilon), dtype=np.float32)


def best(ids: Ids, scores: Floats, k: int) -> tuple[Ids, Floats]:
    """Return the k best columns of each row, best first; ties by lower id, so that results do not depend on storage."""
    order = np.lexsort((ids, -scores), axis=-1)[:, :k]
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(scores, order, axis=1)

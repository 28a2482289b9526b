# SPDX-License-Identifier: Apache-2.0
"""The two interfaces of retrieval: how texts are compared (a retriever) and where pairs are stored (a store).

A retriever encodes texts as vectors (`dense`) or counted words (`bm25`, `tfidf`, `jaccard`). It is a frozen dataclass,
independent of storage. A store keeps pairs with their encoded texts, and finds the nearest pairs. There are three
stores: a folder (`folder/folder_store.py`), Qdrant and PostgreSQL; others need only the methods of `Store`. `Index`
(index.py) combines the two. Classes that do not inherit from the two base classes get their defaults from `Index`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.records import Pair
from interloq.registry import Component, spec

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


class Retriever(Component, kind="retriever"):
    """Base of retrievers, which compare texts. A retriever must define `encode`.

    Its `built_with` returns the model, tokenizer and versions, which must be the same for the whole index, like the
    fields.
    """

    target: Target = "utterance"  # which texts of a pair are compared
    ranking: Literal["bm25", "cosine", "jaccard"] = "bm25"  # how texts are compared if they are encoded as words
    alpha: float = 0.5  # weight of the response's similarity if both texts are compared
    epsilon: float = 0.1  # replaces the response's similarity, with weight 1 − alpha
    encoder: str = ""  # the transformer that encodes texts; empty: none, so that encoding is fast
    k1: float = 1.2  # constants of BM25, if it encodes texts as words
    b: float = 0.75

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Return unit vectors (zeros for a text without a vector) or counted words."""
        raise NotImplementedError


class StoreManifest(Protocol):
    """What the manifest of every store has."""

    @property
    def retriever(self) -> str:
        """The spec of the retriever that the store was built with."""

    @property
    def built_with(self) -> str:
        """The model, tokenizer and versions that the retriever used."""

    @property
    def recall(self) -> float | None:
        """The measured recall of approximate search; None while search is exact."""

    @property
    def wanted_recall(self) -> float:
        """The recall that searches should reach."""


class Store:
    """Base of stores of pairs. Ids are positions: the first pair that was added is 0."""

    where: str = ""  # the address for messages, without a password
    manifest: StoreManifest  # of stores that are opened by their address

    def add(self, pairs: Sequence[Pair], encoded: Mapping[Field, Encoded], *, source: str, consumed: int) -> None:
        """Store a batch completely or not at all, and record that `consumed` pairs of `source` are stored."""
        raise NotImplementedError

    def nearest(self, field: Field, queries: Encoded, k: int) -> tuple[Ids, Floats]:
        """Return ids and scores of the k nearest pairs, best first, padded with NOTHING and -inf."""
        raise NotImplementedError

    def scores(self, field: Field, queries: Encoded, ids: Ids) -> Floats:
        """Return the scores of given pairs for each query."""
        raise NotImplementedError

    def pairs(self, ids: Sequence[int]) -> list[Pair]:
        """Return the pairs with these ids."""
        raise NotImplementedError

    def sources(self) -> dict[str, int]:
        """Return the number of stored pairs per source."""
        raise NotImplementedError

    def finish(self) -> None:
        """Make searches fast and measure their recall; called after the last batch."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Let no other process write; by default, the store refuses batches out of order instead."""
        return nullcontext()

    @property
    def segments(self) -> int:
        """The number of parts that it consists of; 0 if it is not divided."""
        return 0

    def __len__(self) -> int:
        raise NotImplementedError


def check_built_with(manifest: StoreManifest, retriever: Retriever, where: str) -> None:
    """Refuse a retriever that differs from the one that the index was built with."""
    refuse_difference("retriever", manifest.retriever, spec(retriever), where)
    refuse_difference("model or tokenizer", manifest.built_with, retriever.built_with(), where)


def refuse_difference(name: str, stored: object, given: object, where: str) -> None:
    """Refuse a setting that differs from what the index was built with."""
    if stored != given:
        raise InputError(
            f"the index was built with another {name}: {stored!r}, not {given!r}",
            hint="open it with the one it was built with, or build a new index",
            where=where,
        )


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

"""The two seams of retrieval: how texts are compared (a retriever) and where pairs live (a home).

A retriever turns texts into something comparable: vectors (`dense`) or weighted words (`bm25`). It is a frozen
dataclass and knows nothing of storage. A home stores pairs with what the retriever made of them, and finds the nearest.
There are three: a folder (`embedded.py`), Qdrant and PostgreSQL; a fourth needs the methods of `Home` and nothing else.
`Index` (index.py) joins the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from interloq.records import Pair

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
Field = Literal["utterance", "response"]
Target = Literal["utterance", "both"]
NOTHING = -1  # the id of an empty place in a list of results


class Query(NamedTuple):
    """What to look for; the response counts only for retrievers whose target is `both`."""

    utterance: str
    response: str = ""


class Hit(NamedTuple):
    """A pair that was found, and how near it is."""

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
        """Words in each text, repeats counted."""
        totals = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        return np.diff(totals[self.ends]).astype(np.int32)

    def __len__(self) -> int:
        return len(self.ends) - 1


Encoded = Floats | Words


class Retriever(Protocol):
    """How texts are compared."""

    @property
    def target(self) -> Target:
        """Which texts of a pair are compared."""

    @property
    def alpha(self) -> float:
        """The share of the response's similarity where both texts are compared."""

    @property
    def epsilon(self) -> float:
        """What stands for the response's similarity in the rest."""

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Unit vectors (a zero row for a text that has none) or counted words."""

    def built_with(self) -> str:
        """What an index must agree on beyond the retriever's fields: model, tokenizer, versions."""


class Home(Protocol):
    """Where pairs live. Ids are positions: the first pair ever added is 0."""

    @property
    def where(self) -> str:
        """Its address as it may be shown: without a password."""

    def add(self, pairs: Sequence[Pair], encoded: Mapping[Field, Encoded], *, source: str, consumed: int) -> None:
        """Store a batch whole or not at all; remember that `consumed` pairs of `source` are in."""

    def nearest(self, field: Field, queries: Encoded, k: int) -> tuple[Ids, Floats]:
        """Ids and scores of the k nearest, best first; NOTHING with -inf where there are fewer."""

    def scores(self, field: Field, queries: Encoded, ids: Ids) -> Floats:
        """The score of given pairs for each query."""

    def pairs(self, ids: Sequence[int]) -> list[Pair]:
        """The pairs with these ids."""

    def sources(self) -> dict[str, int]:
        """How many pairs of each source are in."""

    def finish(self) -> None:
        """Called after the last batch: make searching fast, and measure what it finds."""

    def __len__(self) -> int: ...


def fields(target: Target) -> tuple[Field, ...]:
    """The texts of a pair that are compared."""
    return ("utterance",) if target == "utterance" else ("utterance", "response")


def joint(utterance: Floats, response: Floats, *, alpha: float, epsilon: float) -> Floats:
    """Similarity of both sides: sim_u · (α·sim_r + (1 − α)·ε). α = 1 is the papers' plain product."""
    return np.asarray(utterance * (alpha * response + (1 - alpha) * epsilon), dtype=np.float32)


def best(ids: Ids, scores: Floats, k: int) -> tuple[Ids, Floats]:
    """The k best columns of each row, best first; equal scores by lower id, so results do not depend on storage."""
    order = np.lexsort((ids, -scores), axis=-1)[:, :k]
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(scores, order, axis=1)

# SPDX-License-Identifier: Apache-2.0
"""Base of metrics over word vectors: texts as bags of known words, and the best reference of a reply.

Word order does not matter in these metrics, so a text is its distinct words, in the order of their numbers, with
counts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from interloq.metrics.metric import (
    Array,
    Metric,
    best_reference,
    reference_counts,
    reference_texts,
    replies,
    score_rows,
)
from interloq.needs import VECTORS, Needs
from interloq.records import Sample
from interloq.vectors.word_table import WordNumbering
from interloq.vectors.word_vectors import WordVectors, distinct, open_vectors

Unknown = Literal["skip", "mean"]
Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]
NO_KNOWN_WORD = "no known word in the reply"
NO_KNOWN_REFERENCE = "no known word in a reference"
TEXTS = 8192  # texts whose vectors are in memory at a time: bounds memory, never changes a result
BLOCKS = 16  # blocks of texts cached as numbers
POOLED = 512  # texts pooled at a time, so that their vectors fit in the processor's cache
REMEMBERED = 2**17  # words (or texts, if the tokenizer looks across words) whose lookup in the vectors is cached


@dataclass(frozen=True, slots=True)
class Bags:
    """Texts as bags: text i has `words[ends[i]:ends[i + 1]]`, rows of `table`, each `counts` times."""

    words: NDArray[np.int32]
    counts: Ints
    ends: Ints
    table: NDArray[np.float32]
    known: NDArray[np.bool_]  # texts with a known word
    empty: NDArray[np.bool_]  # texts without any word


@dataclass(frozen=True)
class WordVectorMetric(Metric):
    """Base of the metrics that compare word vectors of reply and reference."""

    places = ("vectors",)
    needs = Needs(references=True, fields={"vectors": VECTORS})
    over_references = "max"
    vectors: Annotated[str, "folder made by `interloq train vectors`"]
    unknown: Annotated[Unknown, "skip words without a vector (Liu et al.), or use the mean vector (nlg-eval)"] = "skip"

    def built_with(self) -> str:
        return self._lexicon.vectors.signature()

    def unscorable(self, sample: Sample) -> str | None:
        """Return why a sample is unscored. An empty reply is bad and scores 0; a reply of unknown words may be good."""
        if reason := super().unscorable(sample):
            return reason
        if not self._lexicon.knows(sample.response) and self._lexicon.has_words(sample.response):
            return NO_KNOWN_WORD
        for reference in sample.references:
            if self._lexicon.knows(reference.text):
                return None
        return NO_KNOWN_REFERENCE

    def stats(self, samples: Sequence[Sample]) -> Array:
        return score_rows(best_reference(self.by_reference(samples), samples))

    def by_reference(self, samples: Sequence[Sample]) -> Array:
        """Return the similarity of each reply to each of its references; NaN if nothing can be compared."""
        return np.concatenate([np.zeros(0), *map(self._scores, _blocks(samples))])

    @abstractmethod
    def similarities(self, bags: Bags, replies: Ints, references: Ints) -> Array:
        """Return the similarity of each pair of texts, given by their numbers; 0 if either has no words."""

    def _scores(self, samples: Sequence[Sample]) -> Array:
        place: dict[str, int] = {}
        reply_places = _places(place, replies(samples))
        references = _places(place, reference_texts(samples))
        compared = np.repeat(reply_places, reference_counts(samples))
        bags = self._lexicon.bags(list(place), self.unknown)
        similarities = self.similarities(bags, compared, references).clip(-1, 1)
        return np.where(bags.known[references] & (bags.known | bags.empty)[compared], similarities, np.nan)

    @cached_property
    def _lexicon(self) -> Lexicon:
        return lexicon(open_vectors(self.vectors))


class PooledMetric(WordVectorMetric):
    """A metric that computes one vector per text and compares vectors by their cosine."""

    @abstractmethod
    def pool(self, bags: Bags) -> Floats:
        """Return one row per text; zeros if it has no words."""

    def similarities(self, bags: Bags, replies: Ints, references: Ints) -> Array:
        rows = self.pool(bags)
        starts = range(0, len(replies), POOLED)
        parts = [_cosines(rows[replies[i : i + POOLED]], rows[references[i : i + POOLED]]) for i in starts]
        return np.concatenate([np.zeros(0), *parts])


class Lexicon:
    """Word vectors with their tokenizer, to look up words of texts."""

    def __init__(self, vectors: WordVectors) -> None:
        self.vectors, tokenizer = vectors, vectors.tokenizer()
        self._by_word, self._numbering = tokenizer.by_word, WordNumbering(tokenizer, vectors.words.find)
        self._known = lru_cache(maxsize=REMEMBERED)(self._holds_known)
        # several metrics score the same chunk of samples in turn: its texts are tokenised once
        self._numbered = lru_cache(maxsize=BLOCKS)(self._numbering.texts)

    def knows(self, text: str) -> bool:
        """Return whether any word of the text has a vector."""
        parts = text.split() if self._by_word and "\n" not in text else [text]
        return any(map(self._known, parts))

    def has_words(self, text: str) -> bool:
        """Return whether a text has any word, known or not."""
        return len(self._numbering.texts([text]).tokens) > 0

    def _holds_known(self, part: str) -> bool:
        return bool((self._numbering.texts([part]).tokens >= 0).any())

    def bags(self, texts: Sequence[str], unknown: Unknown) -> Bags:
        """Return texts as bags of known words."""
        numbered = self._numbered(tuple(texts))
        flat, lengths = numbered.tokens, numbered.lengths
        owner, missing = np.repeat(np.arange(len(texts)), lengths), flat < 0
        known = np.bincount(owner[~missing], minlength=len(texts)) > 0
        size = len(self.vectors) + 1  # the last number is the mean vector
        keys = owner * size + np.where(missing, size - 1, flat)
        if unknown == "skip":
            keys = keys[~missing]
        keys, counts = np.unique(keys, return_counts=True)
        owner, flat = np.divmod(keys, size)
        used, places = distinct(flat.astype(np.int32), size)
        ends = np.concatenate([[0], np.bincount(owner, minlength=len(texts)).cumsum()])
        own = used[used < len(self.vectors)]
        table = self.vectors.rows(own)
        if len(own) < len(used):
            table = np.concatenate([table, self.vectors.mean()])
        return Bags(places, counts, ends, table, known, lengths == 0)


@lru_cache(maxsize=4)
def lexicon(vectors: WordVectors) -> Lexicon:
    """Return the lexicon that all metrics with these vectors share."""
    return Lexicon(vectors)


def _cosines(first: Floats, second: Floats) -> Array:
    """Return the cosine of each pair of rows; 0 if either is all zeros."""
    first, second = first.astype(np.float64), second.astype(np.float64)
    products = np.einsum("ij,ij->i", first, second)
    # the root of one product, not the product of two roots: equal rows give exactly 1
    lengths = np.sqrt(np.einsum("ij,ij->i", first, first) * np.einsum("ij,ij->i", second, second))
    return np.asarray(np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0))


def extremes(bags: Bags) -> tuple[Floats, Floats]:
    """Return the largest and smallest value of each dimension, one row per text; zeros if it has no words."""
    shape = (len(bags.ends) - 1, bags.table.shape[1])
    high, low = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
    lengths = np.diff(bags.ends)
    # longest texts first, so that those with a k-th word come first
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
    for start in range(0, len(order), POOLED):
        some = order[start : start + POOLED]
        high[some], low[some] = _extremes(bags, bags.ends[some], lengths[some])
    return high, low


def _extremes(bags: Bags, starts: Ints, lengths: Ints) -> tuple[Floats, Floats]:
    high = bags.table[bags.words[starts]]
    low = high.copy()
    for k in range(1, int(lengths[0])):
        n = int(np.searchsorted(-lengths, -k))
        rows = bags.table[bags.words[starts[:n] + k]]
        np.maximum(high[:n], rows, out=high[:n])
        np.minimum(low[:n], rows, out=low[:n])
    return high, low


def _blocks(samples: Sequence[Sample]) -> Iterator[Sequence[Sample]]:
    """Yield consecutive samples with a bounded number of texts."""
    texts = np.cumsum(1 + np.array(reference_counts(samples), dtype=np.int64)) // TEXTS
    starts = np.flatnonzero(np.diff(texts, prepend=-1)).tolist()
    for start, end in pairwise([*starts, len(samples)]):
        yield samples[start:end]


def _places(place: dict[str, int], texts: Sequence[str]) -> Ints:
    """Return the index of each text among the distinct ones."""
    return np.array([place.setdefault(text, len(place)) for text in texts], dtype=np.int64)

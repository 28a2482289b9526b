# SPDX-License-Identifier: Apache-2.0
"""N-gram counts of replies and their references, for many samples at once.

Texts become numbered tokens in flat arrays. Counting compares every token of a reply with every token of its references
in one array operation over a block of samples of similar length; an n-gram matches where n adjacent tokens match. For
replies of usual length that is far faster than hashing n-grams one by one. Samples that are too long are counted with a
dictionary, with results in the same form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.data.text.token_texts import Ints, Texts, TokenNumbering
from interloq.data.text.tokenize import Tokenizer
from interloq.metrics.metric import reference_counts, reference_texts, replies
from interloq.records import Sample

BLOCK = 2**20  # cells compared at a time: few enough to fit in a cache
LONGEST = 255  # counts fit in a byte up to this length; longer texts are counted with a dictionary


@dataclass(frozen=True, slots=True)
class Numbered:
    """Replies and references of samples as token numbers; sample i has `n_references[i]` consecutive references."""

    responses: Texts
    references: Texts
    weights: NDArray[np.float64]
    n_references: NDArray[np.int64]

    @property
    def first_reference(self) -> NDArray[np.int64]:
        """Index of each sample's first reference."""
        return np.cumsum(self.n_references) - self.n_references


@dataclass(frozen=True, slots=True)
class Counts:
    """N-gram counts of a block of samples.

    `response[n-1][g, b]` is the count of n-gram g in reply b, 0 if there is none or it was already counted.
    `references[n-1][g, j, b]` is its count in reference j. `samples[b]` is the index of sample b.
    """

    samples: NDArray[np.int64]
    weights: NDArray[np.float64]  # [j, b]; NaN where sample b has no reference j
    response: list[NDArray[Any]]
    references: list[NDArray[Any]]


def number(samples: Sequence[Sample], tokenizer: Tokenizer) -> Numbered:
    """Tokenise and number the texts of samples."""
    numbering = TokenNumbering(tokenizer)
    responses = numbering.texts(replies(samples))
    references = numbering.texts(reference_texts(samples))
    weights = np.array([r.weight for sample in samples for r in sample.references], dtype=np.float64)
    return Numbered(responses, references, weights, np.array(reference_counts(samples), dtype=np.int64))


def closest_lengths(numbered: Numbered) -> NDArray[np.int64]:
    """Return for each sample the reference length closest to the reply's; of two equally close ones, the shorter."""
    lengths = numbered.references.lengths
    own = np.repeat(numbered.responses.lengths, numbered.n_references)
    span = int(lengths.max(initial=0)) + 1
    key = np.abs(lengths - own) * span + lengths
    return _per_sample(np.minimum, key, numbered) % span


def average_lengths(numbered: Numbered) -> NDArray[np.float64]:
    """Return the mean length of each sample's references."""
    lengths = numbered.references.lengths.astype(np.float64)
    return _per_sample(np.add, lengths, numbered) / numbered.n_references


def largest_weights(numbered: Numbered) -> NDArray[np.float64]:
    """Return the largest weight among each sample's references."""
    return _per_sample(np.maximum, numbered.weights, numbered)


def _per_sample(operation: np.ufunc, values: NDArray[Any], numbered: Numbered) -> NDArray[Any]:
    if not len(numbered.n_references):
        return values[:0]
    return np.asarray(operation.reduceat(values, numbered.first_reference))


def count(numbered: Numbered, order: int) -> Iterator[Counts]:
    """Yield counts of all n-grams up to `order`, in blocks; every sample with references is in one block."""
    widths = _per_sample(np.maximum, numbered.references.lengths, numbered)
    longest = np.maximum(widths, numbered.responses.lengths)
    short = longest <= LONGEST
    for block in _blocks(numbered, widths, np.flatnonzero(short)):
        yield _count_by_comparing(numbered, widths, block, order)
    for i in np.flatnonzero(~short):
        yield _dictionary(numbered, int(i), order)


def _blocks(numbered: Numbered, widths: NDArray[np.int64], samples: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield blocks of samples of similar shape, so that little padding is needed."""
    size = np.stack([numbered.n_references, widths, numbered.responses.lengths])[:, samples]
    samples, size = samples[np.lexsort(size[::-1])], np.maximum(size[:, np.lexsort(size[::-1])], 1)
    start = 0
    while start < len(samples):
        # grow until the padded block, as wide as its widest member, is full
        stop = start + max(1, BLOCK // int(size[:, start].prod()))
        cells = np.maximum.accumulate(size[:, start:stop], axis=1).prod(axis=0) * np.arange(
            1, size[:, start:stop].shape[1] + 1
        )
        stop = start + max(1, int(np.searchsorted(cells, BLOCK, side="right")))
        yield samples[start:stop]
        start = stop


def _count_by_comparing(numbered: Numbered, widths: NDArray[np.int64], block: NDArray[np.int64], order: int) -> Counts:
    """Count by comparing all pairs of tokens; the block is the last axis, so every operation runs along it."""
    response = np.ascontiguousarray(numbered.responses.pad(block, _width(numbered.responses.lengths[block]), -1).T)
    references, weights = _references(numbered, block, _width(widths[block]))
    own = response[:, None] == response[None]  # [i', i, b]
    other = response[None, :, None] == references[:, None]  # [l, i, j, b]
    lengths = numbered.responses.lengths[block]
    counts = Counts(block, weights, [], [])
    own_n, other_n = own, other
    for n in range(1, order + 1):
        if n > 1:
            own_n = own_n[:-1, :-1] & own[n - 1 :, n - 1 :]
            other_n = other_n[:-1, :-1] & other[n - 1 :, n - 1 :]
        valid = np.arange(own_n.shape[1])[:, None] <= lengths - n
        repeated = (own_n & np.tri(own_n.shape[0], k=-1, dtype=bool).T[:, :, None]).any(axis=0)
        counts.response.append(np.add.reduce(own_n, axis=0, dtype=np.uint8) * (valid & ~repeated))
        counts.references.append(np.add.reduce(other_n, axis=0, dtype=np.uint8))
    return counts


def _references(numbered: Numbered, block: NDArray[np.int64], width: int) -> tuple[Ints, NDArray[np.float64]]:
    """Return the references of a block as [l, j, b], missing ones empty, and their weights as [j, b]."""
    each = numbered.n_references[block]
    columns = np.arange(_width(each))
    present = columns < each[:, None]
    which = (numbered.first_reference[block][:, None] + columns)[present]
    tokens = np.full((len(block), len(columns), width), -2, dtype=np.int32)
    tokens[present] = numbered.references.pad(which, width, -2)
    weights = np.full((len(block), len(columns)), np.nan)
    weights[present] = numbered.weights[which]
    return np.ascontiguousarray(tokens.transpose(2, 1, 0)), np.ascontiguousarray(weights.T)


def _width(lengths: NDArray[np.int64]) -> int:
    return max(1, int(lengths.max(initial=0)))


def _dictionary(numbered: Numbered, sample: int, order: int) -> Counts:
    """Count the n-grams of one sample of any length."""
    first = int(numbered.first_reference[sample])
    owned = range(first, first + int(numbered.n_references[sample]))
    counts = Counts(np.array([sample]), numbered.weights[owned, None], [], [])
    for n in range(1, order + 1):
        response = ngrams(numbered.responses[sample].tolist(), n)
        references = [ngrams(numbered.references[j].tolist(), n) for j in owned]
        counts.response.append(np.array([*response.values()], dtype=np.int64).reshape(-1, 1))
        table = [[reference[gram] for reference in references] for gram in response]
        counts.references.append(np.array(table, dtype=np.int64).reshape(-1, len(owned), 1))
    return counts


def ngrams(tokens: Sequence[Any], n: int) -> Counter[tuple[Any, ...]]:
    """Return n-grams and how often each occurs."""
    return Counter(zip(*(tokens[i:] for i in range(n)), strict=False))


def gram_keys(prefixes: NDArray[np.int64], texts: Texts, n: int, base: int) -> NDArray[np.int64]:
    """Return a key for the n-gram at each token, from the numbers of its first n-1 tokens and its last one (< `base`).

    It is -1 if the text ends too early or a part has no number.
    """
    last = np.full(len(texts.tokens), -1, dtype=np.int64)
    last[: max(len(last) - n + 1, 0)] = texts.tokens[n - 1 :]
    inside = np.arange(len(last)) + n <= np.repeat(texts.ends[1:], texts.lengths)
    return np.where(inside & (prefixes >= 0) & (last >= 0), prefixes * base + last, -1)

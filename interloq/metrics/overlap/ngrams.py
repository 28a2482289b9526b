# SPDX-License-Identifier: Apache-2.0
"""N-gram counts of replies and their references, for many samples at once.

Texts become numbered tokens in flat arrays. The distinct n-grams of each reply are numbered, and a table leads from an
n-gram without its last token, and that token, to the number. Every token of a reference is looked up once, and only
where it continues an n-gram of the reply are longer ones looked up. So the work is one look-up per token, and little
more for the n-grams that match.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.data.text.token_texts import Texts, TokenNumbering
from interloq.data.text.tokenize import Tokenizer
from interloq.metrics.metric import reference_counts, reference_texts, replies
from interloq.records import Sample

BLOCK, SAMPLES = 2**16, 256  # tokens and samples counted at a time: few enough to stay in a cache
TABLE = 2**22  # entries of a table; more keys than this are searched in sorted order
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Numbered:
    """Replies and references of samples as token numbers; sample i has `n_references[i]` consecutive references."""

    responses: Texts
    references: Texts
    weights: NDArray[np.float64]
    n_references: Numbers

    @property
    def first_reference(self) -> Numbers:
        """Index of each sample's first reference."""
        return np.cumsum(self.n_references) - self.n_references


@dataclass(frozen=True, slots=True)
class Matches:
    """The distinct n-grams of some replies, of one order, and the references of their samples that contain them.

    N-gram g is in the reply of sample `sample[g]`, `own[g]` times, first at token `place[g]` of all replies. A sample's
    n-grams are consecutive and in the order of the reply. Match m says that reference `reference[m]` contains n-gram
    `gram[m]` `count[m]` times; matches are sorted by n-gram, then by reference.
    """

    order: int
    sample: Numbers
    own: Numbers
    place: Numbers
    gram: Numbers
    reference: Numbers
    count: Numbers

    def shared(self) -> Numbers:
        """Return for each match how often the n-gram is in both texts."""
        return np.minimum(self.own[self.gram], self.count)

    def largest(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return for each n-gram the largest of the values of its matches; 0 without a match."""
        largest = np.zeros(len(self.own), dtype=values.dtype)
        if len(values):
            starts = np.flatnonzero(np.diff(self.gram, prepend=-1))
            largest[self.gram[starts]] = np.maximum.reduceat(values, starts)
        return largest


def add_to(sums: NDArray[np.float64], groups: Numbers, values: NDArray[Any]) -> None:
    """Add values to the sums of their groups, in their order, so that the last bit does not depend on the blocks."""
    if len(groups):
        first = groups.min()
        added = np.bincount(groups - first, weights=values)
        sums[first : first + len(added)] += added


def number(samples: Sequence[Sample], tokenizer: Tokenizer) -> Numbered:
    """Tokenise and number the texts of samples."""
    return number_with(TokenNumbering(tokenizer), samples)


def number_with(numbering: TokenNumbering, samples: Sequence[Sample]) -> Numbered:
    """Number the texts of samples in a vocabulary that can be read afterwards."""
    responses = numbering.texts(replies(samples))
    references = numbering.texts(reference_texts(samples))
    weights = np.array([r.weight for sample in samples for r in sample.references], dtype=np.float64)
    return Numbered(responses, references, weights, np.array(reference_counts(samples), dtype=np.int64))


def closest_lengths(numbered: Numbered) -> Numbers:
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


def count(numbered: Numbered, order: int) -> Iterator[Matches]:
    """Yield the n-grams of every reply up to `order`: all orders of a block of samples, then of the next block."""
    first = np.append(numbered.first_reference, numbered.n_references.sum())
    tokens = numbered.responses.ends + numbered.references.ends[first]
    start, n_samples = 0, len(numbered.n_references)
    while start < n_samples:
        full = int(np.searchsorted(tokens, tokens[start] + BLOCK, side="right")) - 1
        stop = max(start + 1, min(full, start + SAMPLES))
        yield from _count_block(numbered, start, stop, first[start : stop + 1], order)
        start = stop


def _count_block(numbered: Numbered, start: int, stop: int, first: Numbers, order: int) -> Iterator[Matches]:
    """Yield the n-grams of some consecutive samples; their references are `first[0]` to `first[-1]`."""
    replies, references = numbered.responses.part(start, stop), numbered.references.part(first[0], first[-1])
    n_samples, lengths = stop - start, references.lengths
    owner = np.repeat(np.arange(n_samples), replies.lengths)
    reference_at = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)

    # words are numbered within the block, so that the table of samples and words is small
    words, own = np.unique(replies.tokens, return_inverse=True)
    known = np.zeros(max(int(tokens.max(initial=-1)) for tokens in (replies.tokens, references.tokens)) + 1, np.int64)
    known[words] = np.arange(1, len(words) + 1)
    width = len(words) + 1  # 0 stands for words that are in no reply
    keys = _Keys(owner * width + own + 1, n_samples * width)
    others = known[references.tokens]
    others += np.repeat(np.arange(n_samples) * width, np.diff(references.ends[first - first[0]]))
    found = keys.find(others)

    # from here on, a word's number is its place among the words of its own reply, from 1
    sample = owner[keys.first]
    word = np.append(0, np.arange(1, len(sample) + 1) - np.searchsorted(sample, sample))
    width = int(word.max()) + 1
    next_own, next_other = _following(keys.numbers, replies), _following(found, references)

    own_at, own_gram = np.arange(len(own)), keys.numbers
    at = np.flatnonzero(found != 0)
    gram = found[at].astype(np.int64)
    for n in range(1, order + 1):
        if n > 1:
            own_at, own_keys = _extend(own_at, own_gram, next_own[own_at + n - 2], word, width)
            at, other_keys = _extend(at, gram, next_other[at + n - 2], word, width)
            keys = _Keys(own_keys, (len(sample) + 1) * width)
            own_gram, found = keys.numbers, keys.find(other_keys)
            hits = np.flatnonzero(found != 0)
            at, gram = at[hits], found[hits].astype(np.int64)
            sample = owner[own_at[keys.first]]
        pairs, counts = _count_equal((gram - 1) * len(lengths) + reference_at[at])
        grams = pairs // max(len(lengths), 1)
        yield Matches(
            order=n,
            sample=sample + start,
            own=np.bincount(own_gram, minlength=1)[1:],
            place=own_at[keys.first] + numbered.responses.ends[start],
            gram=grams,
            reference=pairs - grams * len(lengths) + first[0],
            count=counts,
        )


class _Keys:
    """Numbers the distinct keys of replies from 1, in the order in which they first occur; all are below `size`."""

    def __init__(self, keys: Numbers, size: int) -> None:
        self._sorted: Numbers | None = None
        if size > TABLE:
            self._sorted, keys = np.unique(keys, return_inverse=True)
            size = len(self._sorted) + 1
        place = np.arange(len(keys))
        self._table = np.zeros(size, dtype=np.int32)
        self._table[keys[::-1]] = place[::-1]  # of several places, the first one is written last
        is_first = self._table[keys] == place
        self.first = np.flatnonzero(is_first)  # where each key first occurs
        self.numbers = np.cumsum(is_first)[self._table[keys]]
        self._table[keys] = self.numbers

    def find(self, keys: Numbers) -> NDArray[np.int32]:
        """Return the number of each key; 0 if no reply has it."""
        if self._sorted is None:
            return self._table[keys]
        places = np.searchsorted(self._sorted, keys)
        return np.where(np.append(self._sorted, -1)[places] == keys, self._table[places], 0)


def _following(numbers: NDArray[Any], texts: Texts) -> NDArray[Any]:
    """Return the number of the word after each token; 0 at the end of a text."""
    following = np.append(numbers[1:], numbers[:1])
    following[texts.ends[1:][texts.lengths > 0] - 1] = 0
    return following


def _extend(at: Numbers, grams: Numbers, last: NDArray[Any], word: Numbers, width: int) -> tuple[Numbers, Numbers]:
    """Return where n-grams go on with a known last word, and the keys of the longer n-grams."""
    kept = np.flatnonzero(last != 0)
    return at[kept], grams[kept] * width + word[last[kept]]


def _count_equal(numbers: Numbers) -> tuple[Numbers, Numbers]:
    """Return the distinct numbers, sorted, and how often each occurs."""
    if numbers.max(initial=0) < 2**31:
        numbers = numbers.astype(np.int32)  # sorted in half the time
    numbers = np.sort(numbers)
    is_new = np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]
    starts = np.flatnonzero(is_new)
    return numbers[starts].astype(np.int64), np.diff(starts, append=len(numbers))


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

# SPDX-License-Identifier: Apache-2.0
"""Metrics that compare the word vectors of reply and reference.

With several references, the nearest is used. A set's score is the mean over samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interloq.metrics.metric import Array
from interloq.metrics.word_vectors.bags_of_vectors import Bags, Floats, Ints, PooledMetric, WordVectorMetric, extremes


@dataclass(frozen=True)
class EmbeddingAverage(PooledMetric, name="embedding_average"):
    """Embedding Average: the cosine of the mean word vectors of reply and reference (Liu et al., 2016).

    Word vectors are not normalised, so long ones weigh more. With several references, the nearest is used. A set's
    score is the mean over samples.
    """

    papers = ("liu-etal-2016-evaluate",)

    def pool(self, bags: Bags) -> Floats:
        """Return sums of word vectors, which have the same cosine as the means."""
        from scipy.sparse import csr_array

        shape = (len(bags.ends) - 1, len(bags.table))
        counts = csr_array((bags.counts.astype(np.float64), bags.words, bags.ends), shape=shape)
        return np.asarray(counts @ bags.table.astype(np.float64))


STEP = 4  # texts are padded to a multiple of this many words, so that many pairs have the same shape
NUMBERS = 2**18  # of the vectors and cosines in memory at a time


@dataclass(frozen=True)
class GreedyMatching(WordVectorMetric, name="greedy_matching"):
    """Greedy Matching (Rus and Lintean, 2012; Liu et al., 2016): match each word to its nearest word in the other text.

    The mean over a text's words of the largest cosine with a word of the other text; then the mean of both directions.
    With several references, the one with the best score is used. A set's score is the mean over samples.
    """

    papers = ("rus-lintean-2012-comparison", "liu-etal-2016-evaluate")

    def similarities(self, bags: Bags, replies: Ints, references: Ints) -> Array:
        table = bags.table.astype(np.float64)
        norms = np.linalg.norm(table, axis=1, keepdims=True)
        units = table / np.where(norms > 0, norms, 1)  # a zero vector stays zero, and its cosines are 0
        similarities = np.zeros(len(replies))
        for pairs, width, other_width in _shapes(bags, replies, references, units.shape[1]):
            words, shares = _fill_rows(bags, replies[pairs], width)
            other_words, other_shares = _fill_rows(bags, references[pairs], other_width)
            cosines = units[words] @ units[other_words].transpose(0, 2, 1)
            there = (cosines.max(axis=2) * shares).sum(axis=1)
            back = (cosines.max(axis=1) * other_shares).sum(axis=1)
            similarities[pairs] = (there + back) / 2
        return similarities


def _shapes(bags: Bags, replies: Ints, references: Ints, dimensions: int) -> Iterator[tuple[Ints, int, int]]:
    """Yield pairs whose texts have words, grouped by their two padded widths, a bounded number at a time."""
    widths = -(-np.diff(bags.ends) // STEP) * STEP
    first, second = widths[replies], widths[references]
    order = np.lexsort((second, first))
    order = order[(first[order] > 0) & (second[order] > 0)]
    changes = np.flatnonzero(np.diff(first[order]) | np.diff(second[order])) + 1
    if not len(order):
        return
    for pairs in np.split(order, changes):
        width, other_width = int(first[pairs[0]]), int(second[pairs[0]])
        step = max(1, NUMBERS // ((width + other_width) * dimensions + width * other_width))
        for start in range(0, len(pairs), step):
            yield pairs[start : start + step], width, other_width


def _fill_rows(bags: Bags, texts: Ints, width: int) -> tuple[NDArray[np.int32], Array]:
    """Return the words of texts as rows of equal width, and their shares of the text.

    Rows are padded with a text's first word, with share 0, which changes no maximum.
    """
    starts, columns = bags.ends[texts, None], np.arange(width)
    inside = columns < bags.ends[texts + 1, None] - starts
    places = starts + np.where(inside, columns, 0)
    counts = np.where(inside, bags.counts[places], 0)
    return bags.words[places], counts / counts.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class RuberReferenced(PooledMetric, name="ruber_referenced"):
    """RUBER's referenced half (Tao et al., 2018): the cosine of [max; min] pooled word vectors.

    A text's vector has the largest value of each dimension among its words, followed by the smallest. With several
    references, the nearest is used. A set's score is the mean over samples; scores are not normalised here.
    """

    papers = ("tao-etal-2018-ruber",)

    def pool(self, bags: Bags) -> Floats:
        return np.concatenate(extremes(bags), axis=1)


@dataclass(frozen=True)
class VectorExtrema(PooledMetric, name="vector_extrema"):
    """Vector Extrema (Forgues et al., 2014; Liu et al., 2016): the cosine of the most extreme values of each dimension.

    A text's value in a dimension is the smallest among its words if its magnitude exceeds the largest (|min| > max),
    else the largest. With several references, the nearest is used. A set's score is the mean over samples.
    """

    papers = ("forgues-etal-2014-bootstrapping", "liu-etal-2016-evaluate")

    def pool(self, bags: Bags) -> Floats:
        high, low = extremes(bags)
        return np.where(np.abs(low) > high, low, high)

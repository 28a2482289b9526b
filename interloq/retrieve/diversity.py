# SPDX-License-Identifier: Apache-2.0
"""Maximal marginal relevance (Carbonell and Goldstein, 1998): relevant replies that differ from each other.

The next reply is the one with the largest (1 − d) · relevance − d · (largest similarity to a chosen reply). With d = 0,
replies are ordered by relevance; with d = 1, only novelty counts after the first reply.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interloq.retrieve.retriever import Encoded, Words

Array = NDArray[np.float64]


def diversify_replies(scores: Sequence[float], replies: Encoded, k: int, *, diversity: float) -> list[int]:
    """Return the positions of k chosen replies. BM25 and cosine are made comparable: scores are divided by the best."""
    relevance = np.asarray(scores, dtype=float)
    return mmr(relevance / relevance.max(initial=1e-12), similarities(replies), k, diversity=diversity)


def mmr(relevance: Array, similarity: Array, k: int, *, diversity: float) -> list[int]:
    """Return the positions of the k chosen items in the order of choice; ties go to the earlier item."""
    chosen: list[int] = []
    nearest = np.zeros(len(relevance))
    left = np.ones(len(relevance), dtype=bool)
    while len(chosen) < k and left.any():
        gain = np.where(left, (1 - diversity) * relevance - diversity * nearest, -np.inf)
        # the first is the most relevant one even if d is 1, since there is nothing to differ from
        place = int(np.argmax(gain if chosen else np.where(left, relevance, -np.inf)))
        chosen.append(place)
        left[place] = False
        nearest = np.maximum(nearest, similarity[place]) if len(chosen) > 1 else similarity[place].copy()
    return chosen


def similarities(replies: Encoded) -> Array:
    """Return the pairwise similarity: cosine of vectors (negative values become 0), or Jaccard similarity of words."""
    if not isinstance(replies, Words):
        return np.asarray(np.maximum(replies @ replies.T, 0), dtype=float)
    _, columns = np.unique(replies.terms, return_inverse=True)
    rows = np.repeat(np.arange(len(replies)), np.diff(replies.ends))
    holds = np.zeros((len(replies), int(columns.max(initial=-1)) + 1))
    holds[rows, columns] = 1
    shared = holds @ holds.T
    sizes = np.diag(shared)
    union = sizes[:, None] + sizes - shared
    return np.asarray(shared / np.where(union > 0, union, 1))

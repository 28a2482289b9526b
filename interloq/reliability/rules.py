# SPDX-License-Identifier: Apache-2.0
"""What a set of references looks like in numbers, and rules that choose references without learning anything.

A pool is everything known about a query: its references and candidates for further ones. Features of a set depend on
its pool: whether a reference is close to the others can only be told among others. If the replies to be scored are
known (not their ratings), a set is also described by how well the scores with it agree with the scores with the pool.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.metrics.metric import Reduction
from interloq.reliability.labels import NONE, subset_scores
from interloq.statistics.correlation import pearson_rows

Floats = NDArray[np.float64]
Sets = NDArray[np.integer[Any]]  # rows of reference numbers, padded with NONE
TEXT = ("length", "query", "overlap", "distinct")  # of a reference with its query
MEMBERS = (*TEXT, "others")  # means over the members; `others` is the cosine with the other references of the pool
SET = (*MEMBERS, "coverage", "spread", "size")
AGREEMENT = ("agreement with mean", "agreement with best", "agreement with cosine")
FEATURES = (*SET, *(f"pool {name}" for name in (*MEMBERS, "size")), *AGREEMENT)
RANDOM = "random"
RULES = {"longest": "length", "nearest-references": "others", "nearest-query": "query"}  # and their feature
REPLY_RULES = RULES | {"agreement": "agreement with cosine"}  # with replies
NUMBERS = 2**22  # in memory at a time


def describe_texts(query: str, references: list[str], cosines: Floats) -> Floats:
    """Return the features TEXT of references, given their cosines with the query."""
    asked, rows = set(_words(query)), []
    for text, cosine in zip(references, cosines, strict=True):
        words = _words(text)
        distinct = set(words)
        shares = len(distinct & asked) / max(1, len(distinct)), len(distinct) / max(1, len(words))
        rows.append([np.log1p(len(text)), float(cosine), *shares])
    return np.array(rows, dtype=np.float64).reshape(-1, len(TEXT))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


@dataclass(frozen=True, slots=True)
class Pool:
    """References and candidates of one query: features of each text, cosines of each two, and scores of replies."""

    texts: Floats  # [references, TEXT]
    cosines: Floats  # [references, references]
    scores: Floats | None = None  # [replies, references]; NaN: unscored
    reply_cosines: Floats | None = None  # [replies, references]
    over: Reduction = "max"
    members: Floats = field(init=False)  # [references, MEMBERS]

    def __post_init__(self) -> None:
        others = (self.cosines.sum(axis=1) - self.cosines.diagonal()) / max(1, len(self.cosines) - 1)
        object.__setattr__(self, "members", np.column_stack([self.texts, others]))

    def __len__(self) -> int:
        return len(self.texts)

    def restrict(self, members: Sets) -> Pool:
        """Return the pool of these references alone."""
        scores = None if self.scores is None else self.scores[:, members]
        reply_cosines = None if self.reply_cosines is None else self.reply_cosines[:, members]
        return Pool(self.texts[members], self.cosines[np.ix_(members, members)], scores, reply_cosines, self.over)

    def describe_alone(self, sets: Sets) -> Floats:
        """Return the features [sets, FEATURES] of each set as if nothing else were known about the query."""
        rows = [np.zeros(len(FEATURES))]
        for row in sets:
            alone = self.restrict(row[row != NONE])
            rows.append(alone.describe(np.arange(len(alone))[None])[0])
        return np.array(rows[1:]).reshape(-1, len(FEATURES))

    def describe(self, sets: Sets) -> Floats:
        """Return the features [sets, FEATURES] among the pool; those of AGREEMENT are 0 without replies."""
        step = max(1, NUMBERS // max(1, sets.shape[1] * max(len(self), sets.shape[1])))
        parts = [self._describe(sets[start : start + step]) for start in range(0, len(sets), step)]
        return np.concatenate([np.zeros((0, len(FEATURES))), *parts])

    def _describe(self, sets: Sets) -> Floats:
        known = sets != NONE
        sizes = known.sum(axis=1)
        means = np.where(known[:, :, None], self.members[sets], 0.0).sum(axis=1) / sizes[:, None]
        coverage = np.where(known[:, :, None], self.cosines[sets], -1.0).max(axis=1).mean(axis=1)
        two = known[:, :, None] & known[:, None, :] & ~np.eye(sets.shape[1], dtype=bool)
        between = np.where(two, self.cosines[sets[:, :, None], sets[:, None, :]], 0.0).sum(axis=(1, 2))
        spread = between / np.maximum(1, sizes * (sizes - 1))
        pool = np.tile([*self.members.mean(axis=0), np.log(len(self))], (len(sets), 1))
        return np.column_stack([means, coverage, spread, np.log(sizes), pool, self._describe_agreement(sets)])

    def _describe_agreement(self, sets: Sets) -> Floats:
        """Return the correlations of scores with a set with the mean and the best score, and with the cosine."""
        agreement = np.zeros((len(sets), len(AGREEMENT)))
        if self.scores is None or self.reply_cosines is None or len(self.scores) < 2:
            return agreement
        scores = np.nan_to_num(subset_scores(self.scores, sets.astype(np.int32), self.over))
        complete = np.nan_to_num(self.scores)
        for i, pooled in enumerate((complete.mean(axis=1), complete.max(axis=1), self.reply_cosines.mean(axis=1))):
            agreement[:, i] = np.nan_to_num(pearson_rows(scores, np.broadcast_to(pooled, scores.shape)))
        return agreement


def order_by_rule(rule: str, pool: Pool, seed: int = 0) -> list[int]:
    """Return the references in the order in which a rule chooses them."""
    if rule == RANDOM:
        order = np.random.default_rng(seed).permutation(len(pool))
    else:
        singles = pool.describe(np.arange(len(pool))[:, None])
        order = np.argsort(-singles[:, FEATURES.index(REPLY_RULES[rule])], kind="stable")
    return [int(place) for place in order]

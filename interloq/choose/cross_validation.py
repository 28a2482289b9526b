# SPDX-License-Identifier: Apache-2.0
"""Candidates for a metric, and how well each agrees with people on samples that it was not learned from.

A candidate learns weights of metrics from rated samples: a single metric (nothing is learned), metrics with equal
weights, or weights from a ridge regression on the ranks of the ratings; its λ is chosen by held-out samples. Choosing
the best candidate is a candidate too, which makes its cross-validation nested. Replies to one context are never both
learned from and tested on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interloq.metrics.metric import Array
from interloq.statistics import ridge
from interloq.statistics.correlation import BY_ROW

Index = NDArray[np.int64]
OUTER, INNER = 10, 5  # folds of a reported agreement, and of those inside it
EQUAL, RIDGE = "blend with equal weights", "blend with learned weights"
BLENDS = (EQUAL, RIDGE)
WORTH = 0.02  # a blend must agree by more than this better than the best single metric, which is easier to explain


@dataclass(frozen=True, slots=True)
class RatedScores:
    """Standardised scores [samples, metrics], higher is better; mean judgments and context numbers of the samples."""

    scores: Array
    people: Array
    contexts: Index

    def rows(self, which: NDArray[np.bool_]) -> RatedScores:
        """Return some of the samples."""
        return RatedScores(self.scores[which], self.people[which], self.contexts[which])


Learner = Callable[[RatedScores], Array]  # weights of the metrics, learned from rated samples


def candidates(metrics: list[str], *, blend: bool = True) -> dict[str, Learner]:
    """Return single metrics and, if there are several, blends of all of them; simple ones first."""
    learners: dict[str, Learner] = {}
    for name, weights in zip(metrics, np.eye(len(metrics)), strict=True):
        learners[name] = _single(weights)
    if blend and len(metrics) > 1:
        learners[EQUAL] = lambda rated: _scale(np.ones(rated.scores.shape[1]), rated)
        learners[RIDGE] = _ridge
    return learners


def chooser(learners: Mapping[str, Learner], seed: int) -> Learner:
    """Return a learner that chooses the candidate with the highest agreement on held-out samples."""
    return lambda rated: learners[best(learners, rated, seed, folds=INNER)](rated)


def best(learners: Mapping[str, Learner], rated: RatedScores, seed: int, *, folds: int = OUTER) -> str:
    """Return the candidate with the highest agreement on held-out samples; a blend only if it is worth it."""
    worth = {}
    for name, learn in learners.items():
        rho = spearman(score_held_out(learn, rated, seed, folds=folds), rated.people)
        if not np.isnan(rho):
            worth[name] = rho - WORTH * (name in BLENDS)
    return max(worth, key=lambda name: worth[name], default=next(iter(learners)))


def score_held_out(learn: Learner, rated: RatedScores, seed: int, *, folds: int = OUTER) -> Array:
    """Return the score of each sample with weights learned from other contexts."""
    groups, number_of_context = np.unique(rated.contexts, return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(groups))
    fold = (order % min(folds, len(groups)))[number_of_context]  # folds have equally many contexts
    scores = np.zeros(len(rated.people))
    for number in np.unique(fold):
        held = fold == number
        scores[held] = rated.scores[held] @ learn(rated.rows(~held))
    return scores


def spearman(x: Array, y: Array) -> float:
    """Return Spearman's ρ; NaN if one side is constant."""
    return float(BY_ROW["spearman"](x[None], y[None])[0])


def _single(weights: Array) -> Learner:
    return lambda _: weights


def _ridge(rated: RatedScores) -> Array:
    contexts = np.unique(rated.contexts, return_inverse=True)[1]
    states = ridge.RatedStates(rated.scores, ridge.ranks(rated.people), np.zeros_like(contexts), contexts)
    agreement = [ridge.spearman(states, column) for column in ridge.score_held_out(states)]
    strength = ridge.STRENGTHS[int(np.argmax(np.nan_to_num(agreement, nan=-2.0)))]
    (head,) = ridge.heads(states, [strength])
    return _scale(head.weights, rated)


def _scale(weights: Array, rated: RatedScores) -> Array:
    """Scale weights so that scores have a standard deviation of 1, and different folds are comparable."""
    spread = float((rated.scores @ weights).std())
    return weights / spread if spread > 0 else weights

# SPDX-License-Identifier: Apache-2.0
"""Ridge regression from states to ranks of ratings, over sets with different scales and raters.

    x̃ = (x − mean of its set) / σ,   σ² = mean over sets of the variance of each dimension
    w̃ = (A + λ I)⁻¹ b,   A = mean over sets of x̃ᵀx̃ / n,   b = mean over sets of x̃ᵀy / n
    score(x) = ((x − μ) / σ) · w̃ = x · w + c,   μ = mean of the sets' means

y are the ranks of a set's ratings from −1 to 1, and every set counts the same. λ is chosen by scores of held-out
replies: each set is held out in turn, or, if there is only one set or if sets share all contexts, each of five groups
of contexts. A context is never on both sides.

Another head s(x), learned from other ratings, can be corrected by ratings of one's own:

    score(x) = a · (s(x) − s̄) + ((x − μ) / σ) · w̃,   a: least squares of y on s,   w̃ as above, of y − a · (s − s̄)

Here λ = k · dimensions / replies, with k from `SHRINKAGE` by the squared error on held-out replies: few ratings change
little. The correlations before and after are means over the groups that were held out, while neither w̃ nor k learned
from them. They are not computed over all replies at once: corrections that learned from different groups score on
slightly different scales, so the corrected head would seem to agree less than it does on new replies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from interloq.statistics.resampling import percentile_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # λ
SHRINKAGE = (3.0, 10.0)  # λ · replies / dimensions of corrections
FOLDS, RESAMPLES, SEED = 5, 1000, 0
TINY = 1e-6  # added to σ: a dimension may be constant


@dataclass(frozen=True, slots=True)
class RatedStates:
    """States [replies, dimensions] with the rank of each reply's rating, its set and its context, as numbers."""

    states: Floats
    targets: Floats
    sets: Ints
    contexts: Ints

    def __getitem__(self, which: NDArray[np.bool_]) -> RatedStates:
        return RatedStates(self.states[which], self.targets[which], self.sets[which], self.contexts[which])


@dataclass(frozen=True, slots=True)
class Head:
    """Weights of one aspect with the λ they were learned with, and their Spearman correlation on held-out replies."""

    weights: Floats
    offset: float
    strength: float
    spearman: float = np.nan
    ci: tuple[float, float] = (np.nan, np.nan)

    def __call__(self, states: Floats) -> Floats:
        """Return the scores of states."""
        return np.asarray(states @ self.weights + self.offset)


def ranks(values: Floats) -> Floats:
    """Return average ranks from −1 to 1; a missing value counts as the middle."""
    known = np.isfinite(values)
    ranked = np.zeros_like(values)
    if known.any():
        ranked[known] = (rankdata(values[known]) * 2 - 1) / known.sum() - 1
    return ranked


def learn_head(rated: RatedStates) -> Head:
    """Return weights with the best λ, and their agreement with people on held-out replies (95 % interval)."""
    scores = score_held_out(rated)
    correlations = [spearman(rated, column) for column in scores]
    best = int(np.argmax(np.nan_to_num(correlations, nan=-1.0)))
    head = list(heads(rated))[best]
    return replace(head, spearman=correlations[best], ci=interval(rated, scores[best]))


def heads(rated: RatedStates, strengths: Sequence[float] = STRENGTHS) -> Iterator[Head]:
    """Yield weights for each λ."""
    parts = [rated[rated.sets == number] for number in np.unique(rated.sets)]
    means = [part.states.mean(axis=0) for part in parts]
    scale = np.sqrt(np.mean([part.states.var(axis=0) for part in parts], axis=0)) + TINY
    left, right = np.zeros((len(scale), len(scale))), np.zeros(len(scale))
    for part, mean in zip(parts, means, strict=True):
        x = (part.states - mean) / scale
        left += x.T @ x / len(x) / len(parts)
        right += x.T @ part.targets / len(x) / len(parts)
    values, vectors = np.linalg.eigh(left)
    for strength in strengths:
        weights = vectors @ (vectors.T @ right / (values + strength)) / scale
        yield Head(weights, -float(np.mean(means, axis=0) @ weights), strength)


@dataclass(frozen=True, slots=True)
class Correction:
    """A head for ratings that another head does not know, with correlations on held-out replies before and after.

    `head` is the corrected one if it `is_better`, otherwise the other one, scaled to the ratings.
    """

    head: Head
    before: float
    after: float
    difference: tuple[float, float]  # 95 % interval of after − before

    @property
    def is_better(self) -> bool:
        """Whether the corrected head agrees more with people."""
        return self.after > self.before


def learn_correction(rated: RatedStates, prior: Head) -> Correction:
    """Correct a head by ratings, unless this does not help on held-out replies."""
    scores = prior(rated.states), score_held_out(rated, lambda part: [_correct_head(part, prior)])[0]
    folds = [held for held, _ in _folds(rated)]
    by_fold = replace(rated, sets=rated.sets * len(folds) + np.argmax(folds, axis=0))
    before, after = (spearman(by_fold, column) for column in scores)
    drawn = [_resample(by_fold, column) for column in scores]
    if after > before:
        head = replace(_correct_head(rated, prior), spearman=after, ci=percentile_interval(drawn[1]))
    else:
        head = replace(_scale_head(rated, prior), spearman=before, ci=percentile_interval(drawn[0]))
    return Correction(head, before, after, percentile_interval(drawn[1] - drawn[0]))


def _correct_head(rated: RatedStates, prior: Head) -> Head:
    """Return the corrected head with the best λ; with the largest if there are too few contexts to hold some out."""
    best = len(SHRINKAGE) - 1
    if np.ptp(rated.contexts):
        scores = score_held_out(rated, partial(_correct_heads, prior=prior))
        best = int(np.argmin(((scores - rated.targets) ** 2).mean(axis=1)))
    return _correct_heads(rated, prior)[best]


def _correct_heads(rated: RatedStates, prior: Head) -> list[Head]:
    """Return corrected heads for each of `SHRINKAGE`."""
    scaled = _scale_head(rated, prior)
    unexplained = replace(rated, targets=rated.targets - scaled(rated.states))
    strengths = [k * rated.states.shape[1] / len(rated.targets) for k in SHRINKAGE]
    return [
        replace(correction, weights=scaled.weights + correction.weights, offset=scaled.offset + correction.offset)
        for correction in heads(unexplained, strengths)
    ]


def _scale_head(rated: RatedStates, prior: Head) -> Head:
    """Return the head whose scores are the expected ranks given the scores of `prior`, in the same order."""
    scores = prior(rated.states)
    (line,) = heads(replace(rated, states=scores[:, None]), (TINY,))
    slope = max(float(line.weights[0]), TINY)
    middle = np.mean([scores[rated.sets == number].mean() for number in np.unique(rated.sets)])
    return Head(slope * prior.weights, slope * (prior.offset - float(middle)), np.inf)


def score_held_out(rated: RatedStates, learn: Callable[[RatedStates], Iterable[Head]] = heads) -> Floats:
    """Return scores [heads, replies] of each reply by heads that saw neither its fold nor its context."""
    folds = _folds(rated)
    learned = [list(learn(rated[rest])) for _, rest in folds]
    scores = np.zeros((len(learned[0]), len(rated.targets)))
    for (held, _), heads_of_fold in zip(folds, learned, strict=True):
        scores[:, held] = [head(rated.states[held]) for head in heads_of_fold]
    return scores


def _folds(rated: RatedStates) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Return the held-out replies and the replies to learn from, for each fold."""
    for folds in (rated.sets, np.unique(rated.contexts, return_inverse=True)[1] % FOLDS):
        masks = []
        for number in np.unique(folds):
            held = folds == number
            masks.append((held, ~np.isin(rated.contexts, rated.contexts[held])))
        if all(rest.any() for _, rest in masks):
            break
    return masks


def spearman(rated: RatedStates, scores: Floats) -> float:
    """Return the mean over sets of Spearman's correlation with the ratings.

    It is NaN if no set has different scores and ratings.
    """
    correlations = []
    for number in np.unique(rated.sets):
        in_set = rated.sets == number
        correlation = _correlation(scores[in_set], rated.targets[in_set])
        if np.isfinite(correlation):
            correlations.append(correlation)
    return float(np.mean(correlations)) if correlations else np.nan


def _correlation(x: Floats, y: Floats) -> float:
    first, second = rankdata(x), rankdata(y)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return np.nan
    return float(np.corrcoef(first, second)[0, 1])


def interval(rated: RatedStates, scores: Floats) -> tuple[float, float]:
    """Return the middle 95 % of correlations over resamples of contexts."""
    return percentile_interval(_resample(rated, scores))


def _resample(rated: RatedStates, scores: Floats) -> Floats:
    """Return the correlation in each resample of contexts; the resamples are the same for all scores."""
    rng, order = np.random.default_rng(SEED), np.argsort(rated.contexts, kind="stable")
    starts = np.flatnonzero(np.diff(rated.contexts[order], prepend=-1))
    groups = np.split(order, starts[1:])
    correlations = []
    for _ in range(RESAMPLES):
        drawn = np.concatenate([groups[i] for i in rng.integers(len(groups), size=len(groups))])
        resample = replace(rated, targets=rated.targets[drawn], sets=rated.sets[drawn])
        correlations.append(spearman(resample, scores[drawn]))
    return np.array(correlations)

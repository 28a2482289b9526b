"""Blends of scorers whose weights never see the ratings of the set they are tested on.

Scores become ranks inside each set, from −1 to 1. For each tested set, a ridge regression on the other sets learns the
weights; each set counts the same. How strongly weights are held back (λ) is chosen by leaving out, in turn, each of the
remaining sets. Sets with ratings of the same dialogues as the tested one are not learned from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rated_sets import KNOWN
from scipy.stats import spearmanr

from interloq.statistics.ridge import ranks

Floats = NDArray[np.float64]
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True, slots=True)
class Ranked:
    """One set: ranks of each scorer's values [items, scorers] and of the ratings [items]."""

    scores: Floats
    human: Floats


@dataclass(frozen=True, slots=True)
class Blend:
    """Weights of the scorers, the strength they were held back with, and the scores of the tested set."""

    weights: Floats
    strength: float
    scores: Floats


def ranked(columns: Sequence[Floats], human: Floats) -> Ranked:
    return Ranked(np.column_stack([ranks(column) for column in columns]), ranks(human))


def mean_of_ranks(columns: Sequence[Floats]) -> Floats:
    """A blend without weights."""
    return np.asarray(np.mean([ranks(column) for column in columns], axis=0))


def blend(sets: Mapping[str, Ranked], tested: str) -> Blend:
    """Learn on the other sets, score the tested one."""
    others = {name: own for name, own in sets.items() if name != tested and name not in _kin(tested)}
    strength = max(STRENGTHS, key=lambda s: _held_out_correlation(others, s))
    weights = fitted(list(others.values()), strength)
    return Blend(weights, strength, sets[tested].scores @ weights)


def fitted(sets: Sequence[Ranked], strength: float) -> Floats:
    """Ridge weights over the sets, each of which counts the same."""
    n = sets[0].scores.shape[1]
    left, right = np.zeros((n, n)), np.zeros(n)
    for own in sets:
        left += own.scores.T @ own.scores / len(own.human)
        right += own.scores.T @ own.human / len(own.human)
    return np.asarray(np.linalg.solve(left / len(sets) + strength * np.eye(n) / 3, right / len(sets)))


def _held_out_correlation(sets: Mapping[str, Ranked], strength: float) -> float:
    """Mean correlation on each set with the weights of those it shares nothing with."""
    found = []
    for name, own in sets.items():
        rest = [other for key, other in sets.items() if key != name and key not in _kin(name)]
        if rest:
            found.append(spearmanr(own.scores @ fitted(rest, strength), own.human).statistic)
    return float(np.mean(found)) if found else 0.0


def _kin(name: str) -> tuple[str, ...]:
    return KNOWN[name].kin if name in KNOWN else ()

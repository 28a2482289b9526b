# SPDX-License-Identifier: Apache-2.0
"""Bradley and Terry (1952): strengths from wins. System i beats system j with probability π_i / (π_i + π_j).

The package choix finds the maximum-likelihood strengths by iterative Luce spectral ranking (Maystre and Grossglauser,
2015). A small prior, a few wins of every system over every other, keeps the strength of a system that lost every
comparison finite. Strengths are logarithms with mean 0, so a difference of 1 means odds of e : 1. If no chain of
comparisons connects two systems, only the prior orders them; `is_connected` detects this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interloq.statistics.estimate import Array

PRIOR = 0.1  # wins of each system over each other one, added to those observed
STEPS = 10_000
TOLERANCE = 1e-9  # change of the strengths at which the iteration stops


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """Two systems on one occasion; `difference` is the first one's score minus the second's."""

    occasion: str
    partner: str
    first: str
    second: str
    difference: float

    @property
    def win(self) -> float:
        """Return 1 if the first system has the higher score, 0 if the second does, ½ for a tie."""
        return 0.5 + 0.5 * float(np.sign(self.difference))


def wins(outcomes: Sequence[PairOutcome], systems: Sequence[str], group: NDArray[np.intp]) -> Array:
    """Return the wins of row over column in each group of comparisons; `group` numbers the group of each comparison."""
    place = {name: i for i, name in enumerate(systems)}
    table = np.zeros((int(group.max(initial=-1)) + 1, len(systems), len(systems)))
    first = np.array([place[outcome.first] for outcome in outcomes], dtype=np.intp)
    second = np.array([place[outcome.second] for outcome in outcomes], dtype=np.intp)
    win = np.array([outcome.win for outcome in outcomes])
    np.add.at(table, (group, first, second), win)
    np.add.at(table, (group, second, first), 1 - win)
    return table


def strengths(won: Array, *, prior: float = PRIOR) -> Array:
    """Return log strengths with mean 0, from tables of wins whose last two axes are winner and loser."""
    from choix import ilsr_pairwise_dense

    size = won.shape[-1]
    if size < 2:
        return np.zeros(won.shape[:-1])
    tables = (won + prior * (1 - np.eye(size))).reshape(-1, size, size)
    logs = np.array([ilsr_pairwise_dense(table, max_iter=STEPS, tol=TOLERANCE) for table in tables])
    return np.asarray((logs - logs.mean(axis=1, keepdims=True)).reshape(won.shape[:-1]))


def influences(won: Array, *, prior: float = PRIOR) -> Array:
    """Return the influence of each group (rows) on the log strengths (columns), from tables of wins by group."""
    logs = strengths(won.sum(axis=0), prior=prior)
    return _scores(won, logs) @ _inverse_information(won, logs, prior)


def influences_if_equal(won: Array, first: int, second: int, *, prior: float = PRIOR) -> Array:
    """Return the influence of each group on the difference of two strengths, at the best fit with both equal.

    Their sum is the difference after one step from that fit.
    """
    merged = np.delete(np.eye(won.shape[1]), second, axis=1)
    merged[second] = merged[first]  # the two are one system
    total = won.sum(axis=0) + prior * (1 - np.eye(len(merged)))
    table = merged.T @ total @ merged
    logs = merged @ strengths(table * (1 - np.eye(len(table))), prior=0.0)
    inverse = _inverse_information(won, logs, prior)
    return np.asarray(_scores(won, logs) @ (inverse[first] - inverse[second]))


def _scores(won: Array, logs: Array) -> Array:
    """Return wins minus expected wins of each system (columns) in each group (rows)."""
    expected = 1 / (1 + np.exp(logs[None, :] - logs[:, None]))
    return np.asarray((won - (won + won.swapaxes(1, 2)) * expected).sum(axis=2))


def _inverse_information(won: Array, logs: Array, prior: float) -> Array:
    """Return the pseudo-inverse of the information about the strengths, which have mean 0."""
    expected = 1 / (1 + np.exp(logs[None, :] - logs[:, None]))
    total = won.sum(axis=0) + prior * (1 - np.eye(len(logs)))
    weights = (total + total.T) * expected * (1 - expected)
    return np.asarray(np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights))


def is_connected(won: Array) -> bool:
    """Return whether a chain of comparisons connects every pair of systems."""
    met = (won + won.T) > 0
    reached = np.zeros(len(won), dtype=bool)
    reached[:1] = True
    for _ in range(len(won)):
        reached |= met[reached].any(axis=0)
    return bool(reached.all())

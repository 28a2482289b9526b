# SPDX-License-Identifier: Apache-2.0
"""How many dialogues a ranking needs: how well two rankings agree that were made from different dialogues.

Sato et al. (2022) play until the ranking converges. Here, n dialogues of each system are drawn at random, then n
others, and both halves rank the systems by their means. The agreement is the share of pairs of systems in the same
order; a tie counts half. It says how much of the ranking would change if the n dialogues were played again. Halves do
not overlap, so n is at most half of the dialogues of the system with the fewest, and at most 1,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from interloq.agree.dialogue_scores import DialogueScore
from interloq.metrics.metric import Array
from interloq.statistics.estimate import Estimate
from interloq.statistics.resampling import percentile_interval

DRAWS = 500
MOST = 1_000  # dialogues per half
STEPS = (1, 2, 5)  # times powers of ten


@dataclass(frozen=True, slots=True)
class ConvergencePoint:
    """Agreement of two rankings, each from this many dialogues of every system."""

    dialogues: int
    agreement: Estimate  # share of pairs of systems in the same order; the interval is over draws


def measure_convergence(rows: Sequence[DialogueScore], *, seed: int = 0) -> tuple[ConvergencePoint, ...]:
    """Return the agreement by number of dialogues; empty without two systems that have two scored dialogues each."""
    by_system: dict[str, list[float]] = {}
    for row in rows:
        by_system.setdefault(row.system, []).append(row.value)
    values = [np.array(by_system[system]) for system in sorted(by_system)]
    most = min(min(map(len, values), default=0) // 2, MOST)
    if len(values) < 2 or not most:
        return ()
    rng = np.random.default_rng(seed)
    shuffled = []
    for own in values:
        orders = rng.permuted(np.tile(np.arange(len(own)), (DRAWS, 1)), axis=1)[:, : 2 * most]
        shuffled.append(own[orders])
    dialogues = np.stack(shuffled, axis=1)  # [draws, systems, dialogues]
    points = []
    for n in list_sizes(most):
        shares = share_in_order(dialogues[:, :, :n].mean(axis=2), dialogues[:, :, most : most + n].mean(axis=2))
        estimate = Estimate(float(shares.mean()), DRAWS, percentile_interval(shares))
        points.append(ConvergencePoint(n, estimate))
    return tuple(points)


def list_sizes(most: int) -> list[int]:
    """Return 1, 2, 5, 10, … up to `most`, which is the last."""
    sizes = {most}
    power = 1
    while power <= most:
        sizes.update(step * power for step in STEPS if step * power <= most)
        power *= 10
    return sorted(sizes)


def share_in_order(first: Array, second: Array) -> Array:
    """Return the share of pairs of columns that two rows order in the same way, for each row."""
    places = np.triu_indices(first.shape[1], 1)
    products = np.ones((len(first), len(places[0])))
    for means in (first, second):
        products *= np.sign(means[:, places[0]] - means[:, places[1]])
    return np.asarray((1 + products.mean(axis=1)) / 2)

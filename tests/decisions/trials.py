"""Repeats of simulated decisions, and how often they were wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields

import numpy as np
from numpy.random import Generator

from interloq.compare.compare import compare
from interloq.compare.comparison import NOT_SHOWN, Comparison
from interloq.compare.gate.gate import Gate, gate
from tests.decisions.rankings import Contest
from tests.decisions.worlds import METRICS, World

PERMUTATIONS = 400  # fewer than the default, to save time: p-values are coarser, not wrong


@dataclass(frozen=True, slots=True)
class Decisions:
    """Shares of repeats of one setting; NaN if nothing was decided."""

    false_verdicts: float  # of equal versions, by any metric
    false_slices: float  # of equal versions, in any slice
    covered: float  # intervals that contain the true difference
    found: float  # true differences by the first metric with a verdict
    wrong_pass: float  # of versions that are worse by exactly the margin
    wrong_regression: float  # of the same
    decided: float  # gates that passed or failed, of versions that are better by the effect


@dataclass(frozen=True, slots=True)
class Orders:
    """Shares of repeats of one setting."""

    together: float  # rankings in which the ranges of all systems contain their true ranks
    disjoint: float  # rankings of equal systems in which two ranges do not overlap
    covered: float  # intervals of differences that contain the true one
    width: float  # mean number of ranks in a range


def try_decisions(world: World, repeats: int, *, n_permutations: int = PERMUTATIONS) -> Decisions:
    """Compare and gate versions of a world again and again."""
    counts: Counter[str] = Counter()
    for seed in range(repeats):
        rng = np.random.default_rng([seed, 1])
        equal = _compared(world, rng, 0.0, seed, n_permutations)
        better = _compared(world, rng, world.effect, seed, n_permutations)
        worse = _compared(world, rng, -world.effect, seed, n_permutations)
        counts["false_verdicts"] += _shows(equal, world, sliced=False)
        counts["false_slices"] += _shows(equal, world, sliced=True)
        counts["found"] += _finds(better, world)
        for truth, comparison in ((0.0, equal), (world.effect, better), (-world.effect, worse)):
            for low, high in _intervals(comparison, world):
                counts["intervals"] += 1
                counts["covered"] += low <= truth <= high
        outcome = _gated(worse, world).outcome
        counts["wrong_pass"] += outcome == "pass"
        counts["wrong_regression"] += outcome == "regression"
        counts["decided"] += _gated(better, world).outcome != "undecided"
    covered = counts["covered"] / counts["intervals"] if counts["intervals"] else float("nan")
    shares = {field.name: counts[field.name] / repeats for field in fields(Decisions)}
    return Decisions(**shares | {"covered": covered})


def _compared(world: World, rng: Generator, shift: float, seed: int, n_permutations: int) -> Comparison:
    old, new = world.draw(rng, shift)
    return compare(old, new, slice_by=world.slice_by, planned=False, n_permutations=n_permutations, seed=seed, worst=0)


def _gated(comparison: Comparison, world: World) -> Gate:
    return gate(comparison, world.effect, metrics=[METRICS[0]], by_ratings=world.labels)


def _intervals(comparison: Comparison, world: World) -> list[tuple[float, float]]:
    if world.labels:
        people = [mean.ci for mean in comparison.people if mean.which == "difference" and mean.metric]
        return [ci for ci in people if ci] if not world.undecided else []
    return [change.ci for change in comparison.overall() if change.ci]


def _shows(comparison: Comparison, world: World, *, sliced: bool) -> bool:
    """Whether any difference is shown."""
    if world.labels:
        return not sliced and any(low > 0 or high < 0 for low, high in _intervals(comparison, world))
    return any(change.verdict != NOT_SHOWN for change in comparison.changes if bool(change.slice) == sliced)


def _finds(comparison: Comparison, world: World) -> bool:
    if world.labels:
        return any(low > 0 for low, _ in _intervals(comparison, world))
    return comparison.overall()[0].verdict == "better"


def try_contest(contest: Contest, repeats: int) -> Orders:
    """Rank the systems of a contest again and again."""
    counts: Counter[str] = Counter()
    truth = contest.true_ranks()
    equal = len(set(contest.means)) == 1
    for seed in range(repeats):
        found = contest.rank(np.random.default_rng([seed, 2]), contest.means, seed)
        ranges = [ranks or (1, len(truth)) for ranks in found.ranges]
        counts["together"] += all(low <= rank <= high for (low, high), rank in zip(ranges, truth, strict=True))
        counts["disjoint"] += min(high for _, high in ranges) < max(low for low, _ in ranges)
        counts["width"] += sum(high - low + 1 for low, high in ranges)
        counts["intervals"] += len(found.covered)
        counts["covered"] += sum(found.covered)
    nan = float("nan")
    return Orders(
        counts["together"] / repeats,
        counts["disjoint"] / repeats if equal else nan,
        counts["covered"] / counts["intervals"] if counts["intervals"] else nan,
        counts["width"] / (repeats * len(truth)),
    )

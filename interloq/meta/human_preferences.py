# SPDX-License-Identifier: Apache-2.0
"""People's preferences: strengths of systems by Bradley and Terry, and how often metrics prefer the same reply.

A tie is half a win for both. Intervals and rank ranges are over items with all their preferences, since several people
judge one item.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from interloq.data.jsonl import Rejected, read_all
from interloq.errors import InputError, count
from interloq.meta.bradley_terry import Comparison, connected, strengths, wins
from interloq.meta.pair_tests import rank_ranges, strength_estimates, strength_gaps
from interloq.meta.significance import permutations_per_test
from interloq.metrics.evaluate import bootstrap_counts, percentile_interval
from interloq.metrics.metric import Array
from interloq.metrics.metric_names import UNKNOWN_DIRECTION, direction, unknown_directions
from interloq.records import Key, Preference, Score
from interloq.statistics.clustered import cluster_mean


@dataclass(frozen=True, slots=True)
class Strength:
    """One system's log strength; a difference of 1 means odds of e : 1."""

    system: str
    strength: float
    ci: tuple[float, float] | None
    wins: int
    ties: int
    losses: int
    rank_range: tuple[int, int] | None = None  # the ranges of all systems hold together with a probability of 95 %


@dataclass(frozen=True, slots=True)
class PreferenceRanking:
    """Systems ranked by people's preferences in one aspect, the strongest first."""

    aspect: str
    systems: tuple[Strength, ...]
    items: int
    raters: int
    preferences: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PreferenceAgreement:
    """How often a metric gives the preferred reply the better score; an equal score counts half."""

    metric: str
    aspect: str
    share: float
    ci: tuple[float, float] | None
    n: int  # preferences with a winner and both scores
    ties: int  # preferences without a winner, which are not counted
    unscored: int


def rank_preferences(
    preferences: Iterable[Preference], *, n_bootstrap: int = 1000, n_permutations: int | None = None, seed: int = 0
) -> list[PreferenceRanking]:
    """One ranking per aspect. Rank ranges come from tests of all pairs of systems (see `pair_tests.py`)."""
    if n_bootstrap < 0:
        raise InputError(f"the number of resamples must not be negative, got {n_bootstrap}")
    aspects = sorted(_by_aspect(preferences).items())
    return [_ranking(aspect, some, n_bootstrap, n_permutations, seed) for aspect, some in aspects]


def _by_aspect(preferences: Iterable[Preference]) -> dict[str, list[Preference]]:
    groups: dict[str, list[Preference]] = {}
    for one in preferences:
        groups.setdefault(one.aspect, []).append(one)
    return groups


def _ranking(
    aspect: str, some: Sequence[Preference], n_bootstrap: int, n_permutations: int | None, seed: int
) -> PreferenceRanking:
    systems = sorted({name for one in some for name in one.systems})
    items, group = np.unique([one.item for one in some], return_inverse=True)
    table = wins([_comparison(one) for one in some], systems, group)
    values, ci = strengths(table.sum(axis=0)), _intervals(table, n_bootstrap, seed)
    permutations = permutations_per_test(math.comb(len(systems), 2), n_permutations)
    gaps = strength_gaps(table, strength_estimates(table), n_permutations=permutations, seed=seed)
    ranges = rank_ranges(gaps, len(systems), 1.0)
    found = [
        Strength(name, float(values[i]), ci[i] if ci else None, *_counts(name, some), rank_range=ranges[i])
        for i, name in enumerate(systems)
    ]
    notes = tuple(_notes(some, whole=connected(table.sum(axis=0))))
    raters = len({one.rater for one in some})
    ordered = tuple(sorted(found, key=lambda one: (-one.strength, one.system)))
    return PreferenceRanking(aspect, ordered, len(items), raters, len(some), notes)


def _notes(some: Sequence[Preference], *, whole: bool) -> Iterator[str]:
    if not whole:
        yield "some systems were never compared, not even through others"
    named = [(one.rater, one.item, one.ids, frozenset(one.systems)) for one in some if one.rater]
    if repeated := len(named) - len(set(named)):
        what = count(repeated, "preference")
        yield f"{what} of a rater who had compared the same answers before: all count"


def _comparison(one: Preference) -> Comparison:
    first, second = one.systems
    return Comparison(one.item, "", first, second, float((one.winner == first) - (one.winner == second)))


def _counts(name: str, some: Sequence[Preference]) -> tuple[int, int, int]:
    own = [one for one in some if name in one.systems]
    won, ties = sum(one.winner == name for one in own), sum(not one.winner for one in own)
    return won, ties, len(own) - won - ties


def _intervals(table: Array, n_bootstrap: int, seed: int) -> list[tuple[float, float]]:
    """Percentile intervals of the strengths; empty without resamples or with a single item."""
    if n_bootstrap == 0 or len(table) < 2:
        return []
    flat, shape = table.reshape(len(table), -1), table.shape[1:]
    drawn = np.concatenate([
        strengths((counts.astype(np.float64) @ flat).reshape(-1, *shape))
        for counts in bootstrap_counts(len(table), n_bootstrap, seed)
    ])  # fmt: skip
    return [percentile_interval(column) for column in drawn.T]


def preference_agreement(
    preferences: Iterable[Preference], scores: Iterable[Score], *, lower_is_better: bool | None = None
) -> list[PreferenceAgreement]:
    """Agreement of each metric with people's preferences in each aspect; scores are matched by item and system.

    `lower_is_better` is the direction of metrics that do not define one themselves; an unknown one is refused.
    """
    metrics: dict[str, dict[Key, float]] = {}
    for score in scores:
        if unknown_directions([score.metric], lower_is_better):
            what, hint = UNKNOWN_DIRECTION, "add --higher-is-better or --lower-is-better"
            raise InputError(f"{score.metric} cannot agree with preferences: {what}", hint=hint)
        if score.value is not None and (way := direction(score.metric, lower_is_better)) != "neither":
            metrics.setdefault(score.metric, {})[score.key] = -score.value if way == "lower" else score.value
    groups = sorted(_by_aspect(preferences).items())
    found = [_agreement(metric, values, *group) for metric, values in sorted(metrics.items()) for group in groups]
    if not any(one.n for one in found):
        hint = "scores need the ids of the compared replies and the names of both systems"
        raise InputError("no preference has scores of both replies", hint=hint)
    return found


def _agreement(metric: str, values: dict[Key, float], aspect: str, some: Sequence[Preference]) -> PreferenceAgreement:
    decided = [one for one in some if one.winner]
    known = []
    for one in decided:
        won, lost = (values.get(one.key(name)) for name in _ordered(one))
        if won is not None and lost is not None:
            known.append((one.item, 0.5 + 0.5 * float(np.sign(won - lost))))
    if not known:
        return PreferenceAgreement(metric, aspect, float("nan"), None, 0, len(some) - len(decided), len(decided))
    share = cluster_mean(np.array([agrees for _, agrees in known]), [item for item, _ in known])
    counts = len(known), len(some) - len(decided), len(decided) - len(known)
    return PreferenceAgreement(metric, aspect, share.value, share.ci_within(0, 1), *counts)


def _ordered(one: Preference) -> tuple[str, str]:
    """The winner and the other system."""
    first, second = one.systems
    return (first, second) if one.winner == first else (second, first)


# ---- files -----------------------------------------------------------------------------------------------------------


def rank_preference_files(
    paths: Sequence[str | Path],
    *,
    n_bootstrap: int = 1000,
    n_permutations: int | None = None,
    seed: int = 0,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
) -> list[PreferenceRanking]:
    """Rank systems by the preferences in these files; see `rank_preferences`."""
    found = read_all(paths, kind="preferences", strict=strict, on_reject=on_reject)
    return rank_preferences(found, n_bootstrap=n_bootstrap, n_permutations=n_permutations, seed=seed)


def preference_agreement_files(
    scores: Sequence[str | Path],
    preferences: Sequence[str | Path],
    *,
    lower_is_better: bool | None = None,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
) -> list[PreferenceAgreement]:
    """Agreement of the metrics in score files with the preferences in these files; see `preference_agreement`."""
    people = list(read_all(preferences, kind="preferences", strict=strict, on_reject=on_reject))
    scored = read_all(scores, kind="scores", strict=strict, on_reject=on_reject)
    return preference_agreement(people, scored, lower_is_better=lower_is_better)

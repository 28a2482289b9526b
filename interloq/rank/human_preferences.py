# SPDX-License-Identifier: Apache-2.0
"""People's preferences: strengths of systems by Bradley and Terry, and how often metrics prefer the same reply.

A tie is half a win for both. Intervals and rank ranges are over items with all their preferences, since several people
judge one item.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError, count
from interloq.metrics.metric import Array
from interloq.metrics.metric_names import UNKNOWN_DIRECTION, direction, unknown_directions
from interloq.rank.rank_options import RANK_DEFAULTS, RankOptions
from interloq.rank.rank_ranges import rank_ranges, strength_estimates, strength_gaps
from interloq.records import Key, Preference, Score
from interloq.statistics.bradley_terry import PairOutcome, is_connected, strengths, wins
from interloq.statistics.clustered import cluster_mean
from interloq.statistics.resampling import bootstrap_counts, percentile_interval
from interloq.statistics.significance import permutations_per_test


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
    """Return one ranking per aspect; rank ranges come from tests of all pairs (see `statistics/permutation.py`)."""
    if n_bootstrap < 0:
        raise InputError(f"the number of resamples must not be negative, got {n_bootstrap}")
    aspects = sorted(_by_aspect(preferences).items())
    return [_rank_aspect(aspect, group, n_bootstrap, n_permutations, seed) for aspect, group in aspects]


def _by_aspect(preferences: Iterable[Preference]) -> dict[str, list[Preference]]:
    groups: dict[str, list[Preference]] = {}
    for preference in preferences:
        groups.setdefault(preference.aspect, []).append(preference)
    return groups


def _rank_aspect(
    aspect: str, preferences: Sequence[Preference], n_bootstrap: int, n_permutations: int | None, seed: int
) -> PreferenceRanking:
    outcomes = []
    for preference in preferences:
        first, second = preference.systems
        difference = float((preference.winner == first) - (preference.winner == second))
        outcomes.append(PairOutcome(preference.item, "", first, second, difference))
    systems = sorted(set(chain.from_iterable(preference.systems for preference in preferences)))
    items, group = np.unique([preference.item for preference in preferences], return_inverse=True)
    table = wins(outcomes, systems, group)
    values, ci = strengths(table.sum(axis=0)), _intervals(table, n_bootstrap, seed)
    permutations = permutations_per_test(math.comb(len(systems), 2), n_permutations)
    gaps = strength_gaps(table, strength_estimates(table), n_permutations=permutations, seed=seed)
    ranges = rank_ranges(gaps, len(systems), 1.0)
    ranked = []
    for i, name in enumerate(systems):
        counts = _count_wins(name, preferences)
        ranked.append(Strength(name, float(values[i]), ci[i] if ci else None, *counts, rank_range=ranges[i]))
    ranked.sort(key=lambda strength: (-strength.strength, strength.system))
    notes = tuple(_notes(preferences, whole=is_connected(table.sum(axis=0))))
    raters = len({preference.rater for preference in preferences})
    return PreferenceRanking(aspect, tuple(ranked), len(items), raters, len(preferences), notes)


def _notes(preferences: Sequence[Preference], *, whole: bool) -> Iterator[str]:
    if not whole:
        yield "some systems were never compared, not even through others"
    named = [(p.rater, p.item, p.ids, frozenset(p.systems)) for p in preferences if p.rater]
    if repeated := len(named) - len(set(named)):
        what = count(repeated, "preference")
        yield f"{what} of a rater who had compared the same answers before: all count"


def _count_wins(name: str, preferences: Sequence[Preference]) -> tuple[int, int, int]:
    """Return the wins, ties and losses of a system."""
    won = ties = lost = 0
    for preference in preferences:
        if name in preference.systems:
            if not preference.winner:
                ties += 1
            elif preference.winner == name:
                won += 1
            else:
                lost += 1
    return won, ties, lost


def _intervals(table: Array, n_bootstrap: int, seed: int) -> list[tuple[float, float]]:
    """Return percentile intervals of the strengths; empty without resamples or with a single item."""
    if n_bootstrap == 0 or len(table) < 2:
        return []
    flat, shape = table.reshape(len(table), -1), table.shape[1:]
    drawn = []
    for counts in bootstrap_counts(len(table), n_bootstrap, seed):
        resampled = (counts.astype(np.float64) @ flat).reshape(-1, *shape)
        drawn.append(strengths(resampled))
    return [percentile_interval(column) for column in np.concatenate(drawn).T]


def preference_agreement(
    preferences: Iterable[Preference], scores: Iterable[Score], *, lower_is_better: bool | None = None
) -> list[PreferenceAgreement]:
    """Return how each metric agrees with people's preferences in each aspect; scores match by item and system.

    `lower_is_better` is the direction of metrics that do not define one themselves; an unknown direction is refused.
    """
    metrics: dict[str, dict[Key, float]] = {}
    for score in scores:
        if unknown_directions([score.metric], lower_is_better):
            what, hint = UNKNOWN_DIRECTION, "add --higher-is-better or --lower-is-better"
            raise InputError(f"{score.metric} cannot agree with preferences: {what}", hint=hint)
        if score.value is not None and (way := direction(score.metric, lower_is_better)) != "neither":
            metrics.setdefault(score.metric, {})[score.key] = -score.value if way == "lower" else score.value
    groups = sorted(_by_aspect(preferences).items())
    agreements = []
    for metric, values in sorted(metrics.items()):
        agreements += [_agreement(metric, values, *group) for group in groups]
    if not any(agreement.n for agreement in agreements):
        hint = "scores need the ids of the compared replies and the names of both systems"
        raise InputError("no preference has scores of both replies", hint=hint)
    return agreements


def _agreement(
    metric: str, values: dict[Key, float], aspect: str, preferences: Sequence[Preference]
) -> PreferenceAgreement:
    decided = [preference for preference in preferences if preference.winner]
    items, agrees = [], []
    for preference in decided:
        first, second = preference.systems
        loser = second if preference.winner == first else first
        won, lost = values.get(preference.key(preference.winner)), values.get(preference.key(loser))
        if won is not None and lost is not None:
            items.append(preference.item)
            agrees.append(0.5 + 0.5 * float(np.sign(won - lost)))
    if not items:
        return PreferenceAgreement(metric, aspect, float("nan"), None, 0, len(preferences) - len(decided), len(decided))
    share = cluster_mean(np.array(agrees), items)
    counts = len(items), len(preferences) - len(decided), len(decided) - len(items)
    return PreferenceAgreement(metric, aspect, share.value, share.ci_within(0, 1), *counts)


# ---- files -----------------------------------------------------------------------------------------------------------


def rank_preference_files(
    paths: Sequence[str | Path], options: RankOptions = RANK_DEFAULTS, *, reading: ReadOptions = READ_DEFAULTS
) -> list[PreferenceRanking]:
    """Rank systems by the preferences in these files, with the resamples of the options; see `rank_preferences`."""
    return rank_preferences(
        reading.read_beside(paths, kind="preferences"),
        n_bootstrap=options.n_bootstrap,
        n_permutations=options.n_permutations,
        seed=options.seed,
    )


def preference_agreement_files(
    scores: Sequence[str | Path],
    preferences: Sequence[str | Path],
    *,
    lower_is_better: bool | None = None,
    reading: ReadOptions = READ_DEFAULTS,
) -> list[PreferenceAgreement]:
    """Return how metrics in score files agree with the preferences in these files; see `preference_agreement`."""
    people = list(reading.read_beside(preferences, kind="preferences"))
    return preference_agreement(people, reading.read_beside(scores, kind="scores"), lower_is_better=lower_is_better)

# SPDX-License-Identifier: Apache-2.0
"""Rank systems from the scores of their dialogues, with the uncertainty of each rank.

A system's score is the mean over its dialogues of the mean over its utterances (Sato et al., 2022), or its
Bradley–Terry strength from comparisons on shared occasions. All uncertainty is over the same independent *units*:
occasions with all their dialogues (dialogues if both sides are judged; dialogues of each system if no occasion is
shared), or, with `by="partner"`, whole partners: the former asks how other openings would have changed the ranking, the
latter how other partners would. The systems are fixed. Scores and differences have t intervals over units; two systems
are tested by `exchange.py` over all their dialogues, and the tests of all pairs, adjusted by Holm's method, give ranges
of ranks that hold together with a probability of 95 % (`statistics/permutation.py`). Resamples of units give the
probability of being best.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.agree.dialogue_scores import DialogueScore, downwards, metric_of, unit_names
from interloq.agree.system_agreement import agreement, order_accuracy, order_note
from interloq.errors import InputError
from interloq.metrics.metric import Array
from interloq.rank.convergence import measure_convergence
from interloq.rank.rank_ranges import mean_gaps, rank_ranges, strength_estimates, strength_gaps
from interloq.rank.ranking import Difference, Method, Ranking, Standing, Unit, notes, pairing_of_units, unit_word
from interloq.rank.survival import Survival, survival_curves, survival_notes
from interloq.signature import Signature, fingerprint
from interloq.statistics.bradley_terry import PRIOR, PairOutcome, strengths, wins
from interloq.statistics.clustered import cluster_mean
from interloq.statistics.permutation import Gap, interval_of
from interloq.statistics.resampling import bootstrap_counts
from interloq.statistics.rounding import round_mean, typical_size
from interloq.statistics.significance import adjust_p_values, permutations_per_test


@dataclass(frozen=True, slots=True)
class _Settings:
    method: Method
    by: Unit
    lower_is_better: bool
    n_bootstrap: int
    n_permutations: int
    seed: int


@dataclass(frozen=True, slots=True)
class _Estimates:
    """Scores of all systems, in their order."""

    values: Array
    intervals: list[tuple[float, float] | None]
    gaps: list[Gap]  # of all pairs, in the order of `combinations`
    resampled: Array  # one row per resample

    def orient(self, sign: float) -> tuple[Array, Array]:
        """Return values and resamples such that higher is better."""
        return sign * self.values, sign * self.resampled


def rank(
    rows: Iterable[DialogueScore],
    *,
    method: Method = "mean",
    by: Unit = "dialogue",
    lower_is_better: bool | None = None,
    n_bootstrap: int = 1000,
    n_permutations: int | None = None,
    seed: int = 0,
    human: Mapping[str, float] | None = None,
    partner_set: str = "",
    survival: bool = False,
    convergence: bool = False,
) -> Ranking:
    """Rank systems by one metric, from the rows of `dialogue_scores`; `human` is people's score of each system.

    By default the metric defines whether lower is better, and there are 1,000 permutations per test, or 100 per pair of
    systems if that is more. `survival` adds survival curves, if scores are probabilities of a reply; `convergence` adds
    how well rankings by means agree that are made from fewer dialogues.
    """
    rows = sorted(rows, key=lambda row: (row.system, row.occasion, row.content, row.dialogue))
    lower = downwards(rows, lower_is_better)
    scored = [row for row in rows if not math.isnan(row.value)]
    systems = sorted({row.system for row in scored})
    permutations = permutations_per_test(math.comb(len(systems), 2), n_permutations)
    settings = _Settings(method, by, lower, n_bootstrap, permutations, seed)
    _check_settings(settings)
    outcomes = pair_outcomes(scored)
    if lower:  # a positive difference is a win
        outcomes = [replace(outcome, difference=-outcome.difference) for outcome in outcomes]
    sign = 1.0  # strengths are always higher for better systems
    if method == "mean":
        estimates = _estimate_means(scored, systems, settings)
        if lower:
            sign = -1.0
    else:
        estimates = _estimate_strengths(outcomes, systems, settings)
    places = estimates.orient(sign)
    human = human or {}
    order = order_accuracy(systems, places[0], human)
    remarks = [*notes(rows, systems, outcomes, human, method=method, by=by)]
    if human:
        remarks.append(order_note(order))
    curves: tuple[Survival, ...] = ()
    if survival:
        remarks += survival_notes(scored)
        curves = survival_curves(scored, _units(scored, by), n_bootstrap=n_bootstrap, seed=seed)
    return Ranking(
        metric=metric_of(rows),
        method=method,
        by=by,
        pairing=pairing_of_units(rows, by),
        lower_is_better=lower,
        standings=tuple(_standings(rows, systems, estimates, sign)),
        differences=tuple(_differences(scored, systems, estimates.gaps, places[0])),
        human=agreement(systems, places, human) if human else {},
        notes=tuple(remarks),
        signature=_signature(rows, settings, partner_set, survival),
        survival=curves,
        convergence=measure_convergence(scored, seed=seed) if convergence else (),
        unit=unit_word(rows, by),
        order=order,
    )


def _check_settings(settings: _Settings) -> None:
    if settings.method not in ("mean", "bradley-terry"):
        raise InputError(f"cannot rank by {settings.method!r}", hint="method is mean or bradley-terry")
    if settings.by not in ("dialogue", "partner"):
        raise InputError(f"cannot resample by {settings.by!r}", hint="by is dialogue or partner")
    for name in ("n_bootstrap", "n_permutations"):
        if getattr(settings, name) < 0:
            raise InputError(f"{name} must not be negative, got {getattr(settings, name)}")


def _units(rows: Sequence[DialogueScore], by: Unit) -> list[str]:
    """Return the independent unit of each row."""
    if by == "partner":
        return [row.partner for row in rows]
    return list(map(unit_names(rows), rows))


# ---- scores and their resamples --------------------------------------------------------------------------------------


def _estimate_means(rows: Sequence[DialogueScore], systems: Sequence[str], settings: _Settings) -> _Estimates:
    """Return the means of systems; in resamples NaN for a system in none of the drawn units."""
    names, numbers = np.array([row.system for row in rows]), np.array([row.value for row in rows])
    units = np.array(_units(rows, settings.by))
    values: dict[str, Array] = {}
    system_units: dict[str, list[str]] = {}
    means, sizes, intervals = [], [], []
    for name in systems:
        values[name] = numbers[names == name]
        system_units[name] = units[names == name].tolist()
        mean, size = cluster_mean(values[name], system_units[name]), typical_size(values[name])
        means.append(mean.value)
        sizes.append(size)
        intervals.append(interval_of(mean, size))
    return _Estimates(
        round_mean(means, sizes),
        intervals,
        mean_gaps(values, system_units, n_permutations=settings.n_permutations, seed=settings.seed),
        _resample_means(numbers, _numbers(names.tolist()), _numbers(units.tolist()), settings),
    )


def _resample_means(values: Array, system: NDArray[np.intp], unit: NDArray[np.intp], settings: _Settings) -> Array:
    """Return one row of means per resample of units. If no unit is shared, each system draws from its own."""
    shape = int(unit.max(initial=-1)) + 1, int(system.max(initial=-1)) + 1
    cell = unit * shape[1] + system
    totals, absolutes, sizes = (
        np.bincount(cell, column, shape[0] * shape[1]).reshape(shape)
        for column in (values, np.abs(values), np.ones(len(values)))
    )
    if (np.count_nonzero(sizes, axis=1) > 1).any():
        stream = _draws(shape[0], settings)
        drawn = [_ratio(counts @ totals, counts @ absolutes, counts @ sizes) for counts in stream]
        return np.concatenate([np.empty((0, shape[1])), *drawn])
    means_by_system = []
    for i in range(shape[1]):
        met = sizes[:, i] > 0
        drawn = [np.zeros(0)]
        for counts in _draws(int(met.sum()), replace(settings, seed=settings.seed + i)):  # their draws are independent
            drawn.append(_ratio(counts @ totals[met, i], counts @ absolutes[met, i], counts @ sizes[met, i]))
        means_by_system.append(np.concatenate(drawn))
    if not means_by_system:
        return np.empty((0, 0))
    return np.stack(means_by_system, axis=1)


def _estimate_strengths(outcomes: Sequence[PairOutcome], systems: Sequence[str], settings: _Settings) -> _Estimates:
    """Return the log strengths of systems."""
    if not outcomes and len(systems) > 1:
        raise InputError(
            "no two systems share an occasion, so nothing can be compared",
            hint="let all systems talk to the same partners from the same openings, or use method mean",
        )
    if settings.by == "partner":
        units = [outcome.partner for outcome in outcomes]
    else:
        units = [outcome.occasion for outcome in outcomes]
    won = wins(outcomes, systems, _numbers(units))
    shape = len(systems), len(systems)
    flat = won.reshape(len(won), shape[0] * shape[1])
    drawn = [strengths((counts @ flat).reshape(-1, *shape)) for counts in _draws(len(won), settings)]
    estimates = strength_estimates(won)
    return _Estimates(
        np.array([estimate.value for estimate in estimates]),
        [interval_of(estimate, 1.0) for estimate in estimates],
        strength_gaps(won, estimates, n_permutations=settings.n_permutations, seed=settings.seed),
        np.concatenate(drawn) if drawn else np.empty((0, len(systems))),
    )


def _draws(n: int, settings: _Settings) -> Iterator[Array]:
    """Yield how often each of n units was drawn in each resample, as floats because their products are faster."""
    if n:
        for counts in bootstrap_counts(n, settings.n_bootstrap, settings.seed):
            yield counts.astype(np.float64)


def _numbers(names: Sequence[str]) -> NDArray[np.intp]:
    """Return names as numbers from 0, in alphabetical order."""
    return np.unique(np.array(names, dtype=object), return_inverse=True)[1].astype(np.intp)


def _ratio(total: NDArray[Any], absolute: NDArray[Any], size: NDArray[Any]) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.where(size == 0, np.nan, size)
        return round_mean(total / size, absolute / size)


# ---- standings -------------------------------------------------------------------------------------------------------


def _standings(
    rows: Sequence[DialogueScore], systems: Sequence[str], estimates: _Estimates, sign: float
) -> list[Standing]:
    """Return ranked systems from best to worst, then systems without a score by name."""
    values, resampled = estimates.orient(sign)
    ranks, best = ranks_of(values), _share_of_best(resampled)
    ranges = rank_ranges(estimates.gaps, len(systems), sign)
    standings = []
    for name in sorted({row.system for row in rows}):
        standing = _count_dialogues(name, [row for row in rows if row.system == name])
        if name in systems:
            i = systems.index(name)
            standing = replace(
                standing,
                score=float(estimates.values[i]),
                ci=estimates.intervals[i],
                rank=int(ranks[i]),
                rank_range=ranges[i],
                best=best[i],
            )
        standings.append(standing)
    return sorted(standings, key=lambda s: (s.rank is None, s.rank or 0, s.system))


def _count_dialogues(name: str, rows: Sequence[DialogueScore]) -> Standing:
    """Return a standing without a score or rank."""
    reasons, failures, utterances = Counter[str](), Counter[str](), 0
    for row in rows:
        utterances += row.utterances
        if row.reason:
            reasons[row.reason] += 1
        if row.failure:
            failures[row.failure] += 1
    return Standing(
        system=name,
        score=math.nan,
        ci=None,
        rank=None,
        rank_range=None,
        best=None,
        dialogues=len(rows) - reasons.total(),
        utterances=utterances,
        unscored=reasons.total(),
        reasons=dict(sorted(reasons.items())),
        failures=dict(sorted(failures.items())),
    )


def ranks_of(values: Array) -> NDArray[np.int64]:
    """Return ranks along the last axis, 1 for the highest; equal values share the better rank, NaN is the lowest."""
    values = np.where(np.isnan(values), -np.inf, values)
    higher = values[..., None, :] > values[..., :, None]
    return np.asarray(1 + higher.sum(axis=-1), dtype=np.int64)


def _share_of_best(resampled: Array) -> list[float | None]:
    """Return the share of resamples in which each system is best; None without resamples."""
    if not len(resampled):
        return [None] * resampled.shape[1]
    first = ranks_of(resampled) == 1
    return list((first / first.sum(axis=1, keepdims=True)).mean(axis=0).tolist())


def _differences(
    rows: Sequence[DialogueScore], systems: Sequence[str], gaps: Sequence[Gap], places: Array
) -> list[Difference]:
    """Return all pairs of systems, the better system first."""
    dialogues = Counter(row.system for row in rows)
    ranks = ranks_of(places)
    pairs = combinations(range(len(systems)), 2)
    ranked = []
    for (i, j), gap, p in zip(pairs, gaps, adjust_p_values([gap.p for gap in gaps]), strict=True):
        value, ci = gap.value, gap.ci
        if places[j] > places[i]:
            i, j, value = j, i, -value
            ci = ci and (-ci[1], -ci[0])
        n = dialogues[systems[i]] + dialogues[systems[j]]
        difference = Difference(systems[i], systems[j], value, ci, gap.p, p, n, gap.units, gap.shared)
        ranked.append((ranks[i], ranks[j], difference))
    ranked.sort(key=lambda item: (item[0], item[1], item[2].first, item[2].second))
    return [difference for _, _, difference in ranked]


# ---- signature -------------------------------------------------------------------------------------------------------


def _signature(rows: Sequence[DialogueScore], settings: _Settings, partner_set: str, survival: bool) -> Signature:
    values = sorted(f"{row.dialogue}\0{row.system}\0{row.value!r}" for row in rows)
    facts: dict[str, object] = {"metric": metric_of(rows), "method": settings.method, "by": settings.by}
    facts["paired-by"] = pairing_of_units(rows, settings.by)
    if settings.method == "bradley-terry":
        facts["prior"] = PRIOR
    if settings.lower_is_better:
        facts["better"] = "lower"
    facts |= {"scores": fingerprint(*values), "partners": partner_set, "resamples": settings.n_bootstrap}
    facts |= {"permutations": settings.n_permutations, "seed": settings.seed}
    if survival:
        facts["turns"] = fingerprint(*sorted(f"{row.dialogue}\0{row.system}\0{row.turns!r}" for row in rows))
    return Signature.of("rank", facts)


def pair_outcomes(rows: Iterable[DialogueScore]) -> list[PairOutcome]:
    """Compare each pair of systems on each occasion they share; if both sides are judged, in each dialogue they had."""
    rows = [row for row in rows if row.value == row.value]
    unit_of = unit_names(rows)
    groups: dict[str, list[DialogueScore]] = {}
    for row in rows:
        groups.setdefault(unit_of(row), []).append(row)
    outcomes = []
    for name in sorted(groups):
        for first, second in combinations(sorted(groups[name], key=lambda row: row.system), 2):
            difference = first.value - second.value
            outcomes.append(PairOutcome(name, first.partner, first.system, second.system, difference))
    return outcomes

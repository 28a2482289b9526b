# SPDX-License-Identifier: Apache-2.0
"""Rank systems from the scores of their dialogues, with the uncertainty of each rank.

A system's score is the mean over its dialogues of the mean over its utterances (Sato et al., 2022), or its
Bradley–Terry strength from comparisons on shared occasions. All uncertainty is over the same independent *units*:
occasions with all their dialogues (dialogues if both sides are judged; dialogues of each system if no occasion is
shared), or with `by="partner"` whole partners: the former asks what other openings would have changed, the latter what
other partners would. The systems are fixed. Scores and differences have t intervals over units; two systems are tested
by `exchange.py` over all their dialogues, and the tests of all pairs, adjusted by Holm's method, give ranges of ranks
that hold together with a probability of 95 % (`pair_tests.py`). Resamples of units give the probability of being best.
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

from interloq.errors import InputError
from interloq.meta.bradley_terry import PRIOR, Comparison, comparisons, strengths, wins
from interloq.meta.dialogue_scores import DialogueScore, downwards, metric_of, unit_names
from interloq.meta.exchange import Gap, interval_of
from interloq.meta.pair_tests import mean_gaps, rank_ranges, strength_estimates, strength_gaps
from interloq.meta.ranking import Difference, Method, Ranking, Standing, Unit
from interloq.meta.ranking_notes import notes, pairing_of_units, unit_word
from interloq.meta.significance import adjusted, permutations_per_test
from interloq.meta.survival import Survival, survival_curves, survival_notes
from interloq.meta.system_agreement import agreement, order_accuracy, order_note
from interloq.metrics.evaluate import bootstrap_counts
from interloq.metrics.metric import Array
from interloq.signature import Signature, fingerprint
from interloq.statistics.clustered import cluster_mean
from interloq.statistics.rounding import round_mean, typical_size


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

    def oriented(self, sign: float) -> tuple[Array, Array]:
        """Values and resamples such that higher is better."""
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
) -> Ranking:
    """Ranking by one metric, from the rows of `dialogue_scores`; `human` is people's score of each system.

    By default the metric defines whether lower is better, and there are 1,000 permutations per test, or 100 per pair of
    systems if that is more. `survival` adds survival curves, if scores are probabilities of a reply.
    """
    rows = sorted(rows, key=lambda row: (row.system, row.occasion, row.content, row.dialogue))
    lower = downwards(rows, lower_is_better)
    scored = [row for row in rows if not math.isnan(row.value)]
    systems = sorted({row.system for row in scored})
    permutations = permutations_per_test(math.comb(len(systems), 2), n_permutations)
    settings = _Settings(method, by, lower, n_bootstrap, permutations, seed)
    _check(settings)
    found = _oriented(comparisons(scored), lower)
    human = human or {}
    estimates = _means(scored, systems, settings) if method == "mean" else _strengths(found, systems, settings)
    sign = -1.0 if lower and method == "mean" else 1.0  # strengths are always higher for better systems
    places = estimates.oriented(sign)
    order = order_accuracy(systems, places[0], human)
    return Ranking(
        metric=metric_of(rows),
        method=method,
        by=by,
        pairing=pairing_of_units(rows, by),
        lower_is_better=lower,
        standings=tuple(_standings(rows, systems, estimates, sign)),
        differences=tuple(_differences(scored, systems, estimates.gaps, places[0])),
        human=agreement(systems, places, human) if human else {},
        notes=(
            *notes(rows, systems, found, human, method=method, by=by),
            *([order_note(order)] if human else ()),
            *(survival_notes(scored) if survival else ()),
        ),
        signature=_signature(rows, settings, partner_set, survival),
        survival=_survival(scored, settings) if survival else (),
        unit=unit_word(rows, by),
        order=order,
    )


def _survival(rows: Sequence[DialogueScore], settings: _Settings) -> tuple[Survival, ...]:
    return survival_curves(rows, _units(rows, settings.by), n_bootstrap=settings.n_bootstrap, seed=settings.seed)


def _oriented(found: Sequence[Comparison], lower_is_better: bool) -> list[Comparison]:
    """The comparisons with signs such that a positive difference is a win."""
    return [replace(c, difference=-c.difference) for c in found] if lower_is_better else list(found)


def _check(settings: _Settings) -> None:
    if settings.method not in ("mean", "bradley-terry"):
        raise InputError(f"cannot rank by {settings.method!r}", hint="method is mean or bradley-terry")
    if settings.by not in ("dialogue", "partner"):
        raise InputError(f"cannot resample by {settings.by!r}", hint="by is dialogue or partner")
    for name in ("n_bootstrap", "n_permutations"):
        if getattr(settings, name) < 0:
            raise InputError(f"{name} must not be negative, got {getattr(settings, name)}")


def _units(rows: Sequence[DialogueScore], by: Unit) -> list[str]:
    """The independent unit of each row."""
    if by == "partner":
        return [row.partner for row in rows]
    unit_of = unit_names(rows)
    return [unit_of(row) for row in rows]


# ---- scores and their resamples --------------------------------------------------------------------------------------


def _means(rows: Sequence[DialogueScore], systems: Sequence[str], settings: _Settings) -> _Estimates:
    """Means of systems; in resamples NaN for a system in none of the drawn units."""
    names, numbers = np.array([row.system for row in rows]), np.array([row.value for row in rows])
    units = np.array(_units(rows, settings.by))
    values = {name: numbers[names == name] for name in systems}
    own_units = {name: units[names == name].tolist() for name in systems}
    means = [cluster_mean(values[name], own_units[name]) for name in systems]
    sizes = [typical_size(values[name]) for name in systems]
    return _Estimates(
        round_mean([mean.value for mean in means], sizes),
        [interval_of(mean, size) for mean, size in zip(means, sizes, strict=True)],
        mean_gaps(values, own_units, n_permutations=settings.n_permutations, seed=settings.seed),
        _resampled_means(numbers, _numbers(names.tolist()), _numbers(units.tolist()), settings),
    )


def _resampled_means(values: Array, system: NDArray[np.intp], unit: NDArray[np.intp], settings: _Settings) -> Array:
    """One row of means per resample of units. If no unit is shared, each system draws from its own."""
    shape = int(unit.max(initial=-1)) + 1, int(system.max(initial=-1)) + 1
    cell = unit * shape[1] + system
    columns = values, np.abs(values), np.ones(len(values))
    sums = [np.bincount(cell, column, shape[0] * shape[1]).reshape(shape) for column in columns]
    if (np.count_nonzero(sums[2], axis=1) > 1).any():
        drawn = [_ratio(*(counts @ total for total in sums)) for counts in _draws(shape[0], settings)]
        return np.concatenate(drawn) if drawn else np.empty((0, shape[1]))
    columns_of = []
    for i in range(shape[1]):
        own = sums[2][:, i] > 0
        stream = _draws(int(own.sum()), replace(settings, seed=settings.seed + i))  # their draws are independent
        drawn = [_ratio(*(counts @ total[own, i] for total in sums)) for counts in stream]
        columns_of.append(np.concatenate([np.zeros(0), *drawn]))
    return np.stack(columns_of, axis=1) if columns_of else np.empty((0, 0))


def _strengths(found: Sequence[Comparison], systems: Sequence[str], settings: _Settings) -> _Estimates:
    """Log strengths of systems."""
    if not found and len(systems) > 1:
        raise InputError(
            "no two systems share an occasion, so nothing can be compared",
            hint="let all systems talk to the same partners from the same openings, or use method mean",
        )
    won = wins(found, systems, _numbers([c.partner if settings.by == "partner" else c.occasion for c in found]))
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
    """How often each of n units was drawn in each resample, as floats because their products are faster."""
    counts = bootstrap_counts(n, settings.n_bootstrap if n else 0, settings.seed)
    return (drawn.astype(np.float64) for drawn in counts)


def _numbers(names: Sequence[str]) -> NDArray[np.intp]:
    """Names as numbers from 0, in alphabetical order."""
    place = {name: i for i, name in enumerate(sorted(set(names)))}
    return np.array([place[name] for name in names], dtype=np.intp)


def _ratio(total: NDArray[Any], absolute: NDArray[Any], size: NDArray[Any]) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.where(size == 0, np.nan, size)
        return round_mean(total / size, absolute / size)


# ---- standings -------------------------------------------------------------------------------------------------------


def _standings(
    rows: Sequence[DialogueScore], systems: Sequence[str], estimates: _Estimates, sign: float
) -> list[Standing]:
    """Ranked systems from best to worst, then those without a score by name."""
    values, resampled = estimates.oriented(sign)
    ranks, best = ranks_of(values), _best(resampled)
    ranges = rank_ranges(estimates.gaps, len(systems), sign)
    found = []
    for name in sorted({row.system for row in rows}):
        standing = _counted(name, [row for row in rows if row.system == name])
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
        found.append(standing)
    return sorted(found, key=lambda s: (s.rank is None, s.rank or 0, s.system))


def _counted(name: str, rows: Sequence[DialogueScore]) -> Standing:
    reasons = Counter(row.reason for row in rows if row.reason)
    return Standing(
        system=name,
        score=math.nan,
        ci=None,
        rank=None,
        rank_range=None,
        best=None,
        dialogues=len(rows) - reasons.total(),
        utterances=sum(row.utterances for row in rows),
        unscored=reasons.total(),
        reasons=dict(sorted(reasons.items())),
        failures=dict(sorted(Counter(row.failure for row in rows if row.failure).items())),
    )


def ranks_of(values: Array) -> NDArray[np.int64]:
    """Ranks along the last axis, 1 for the highest; equal values share the better rank, NaN is the lowest."""
    values = np.where(np.isnan(values), -np.inf, values)
    higher = values[..., None, :] > values[..., :, None]
    return np.asarray(1 + higher.sum(axis=-1), dtype=np.int64)


def _best(resampled: Array) -> list[float | None]:
    if not len(resampled):
        return [None] * resampled.shape[1]
    first = ranks_of(resampled) == 1
    return [float(share) for share in (first / first.sum(axis=1, keepdims=True)).mean(axis=0)]


def _differences(
    rows: Sequence[DialogueScore], systems: Sequence[str], gaps: Sequence[Gap], places: Array
) -> list[Difference]:
    """All pairs of systems, the better first."""
    dialogues = Counter(row.system for row in rows)
    ranks = ranks_of(places)
    found = []
    for (i, j), gap, p in zip(
        combinations(range(len(systems)), 2), gaps, adjusted([gap.p for gap in gaps]), strict=True
    ):
        value, ci = gap.value, gap.ci
        if places[j] > places[i]:
            i, j, value = j, i, -value
            ci = ci and (-ci[1], -ci[0])
        n = dialogues[systems[i]] + dialogues[systems[j]]
        difference = Difference(systems[i], systems[j], value, ci, gap.p, p, n, gap.units, gap.shared)
        found.append((ranks[i], ranks[j], difference))
    found.sort(key=lambda item: (item[0], item[1], item[2].first, item[2].second))
    return [difference for _, _, difference in found]


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

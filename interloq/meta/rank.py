# SPDX-License-Identifier: Apache-2.0
"""Rank systems from the scores of their dialogues, with the uncertainty of each rank.

A system's score is the mean over its dialogues of the mean over its utterances (Sato et al., 2022), or its
Bradley–Terry strength from comparisons on shared occasions. Resamples draw occasions with all their dialogues
(dialogues if both sides are judged; dialogues within each system if no occasion is shared), or with `by="partner"`
whole partners: the former asks what other openings would have changed, the latter what other partners would. The
systems are fixed. The resamples give the intervals, the range of ranks (2.5th to 97.5th percentile) and the
probability of being best. Two systems are tested by randomly swapping their scores on each shared occasion (or all with
one partner); if they share no occasion, by randomly reassigning their dialogues. See `DialogueScore.pairing`. p-values
are adjusted over all pairs by Holm's method.
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
from interloq.meta import correlate
from interloq.meta.bradley_terry import PRIOR, Comparison, comparisons, strengths, wins
from interloq.meta.dialogue_scores import DialogueScore, both_sides, downwards, metric_of, pairing_of
from interloq.meta.ranking import Difference, Method, Ranking, Standing, Unit
from interloq.meta.ranking_notes import notes
from interloq.meta.significance import adjusted, permutation_p, permutations_per_test, swapped_units
from interloq.meta.survival import Survival, survival_curves, survival_notes
from interloq.meta.table import COEFFICIENTS, Estimate
from interloq.metrics.evaluate import bootstrap_counts, percentile_interval
from interloq.metrics.metric import Array
from interloq.signature import Signature, fingerprint


@dataclass(frozen=True, slots=True)
class _Settings:
    method: Method
    by: Unit
    lower_is_better: bool
    n_bootstrap: int
    n_permutations: int
    seed: int


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
    values, resampled = _mean(scored, systems, settings) if method == "mean" else _strengths(found, systems, settings)
    sign = -1.0 if lower and method == "mean" else 1.0  # strengths are always higher for better systems
    places = sign * values, sign * resampled
    by_pair: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in found:
        by_pair.setdefault((comparison.first, comparison.second), []).append(comparison)
    tests = [_test(pair, scored, by_pair.get(pair, []), settings) for pair in combinations(systems, 2)]
    return Ranking(
        metric=metric_of(rows),
        method=method,
        by=by,
        pairing=pairing_of(rows),
        lower_is_better=lower,
        standings=tuple(_standings(rows, systems, values, resampled, places)),
        differences=tuple(_differences(systems, values, resampled, places[0], tests)),
        human=_human(systems, places, human) if human else {},
        notes=(
            *notes(rows, systems, found, human, method=method, by=by),
            *(survival_notes(scored) if survival else ()),
        ),
        signature=_signature(rows, settings, partner_set, survival),
        survival=_survival(scored, settings) if survival else (),
    )


def _survival(rows: Sequence[DialogueScore], settings: _Settings) -> tuple[Survival, ...]:
    both = both_sides(rows)
    units = [_unit(row, settings.by, both) for row in rows]
    return survival_curves(rows, units, n_bootstrap=settings.n_bootstrap, seed=settings.seed)


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


# ---- scores and their resamples --------------------------------------------------------------------------------------


def _mean(rows: Sequence[DialogueScore], systems: Sequence[str], settings: _Settings) -> tuple[Array, Array]:
    """Means of systems, and one row of means per resample; NaN for a system in none of the drawn units."""
    both = both_sides(rows)
    unit = _numbers([_unit(row, settings.by, both) for row in rows])
    place = {name: i for i, name in enumerate(systems)}
    shape = int(unit.max(initial=-1)) + 1, len(systems)
    cell = unit * shape[1] + np.array([place[row.system] for row in rows], dtype=np.intp)
    values = np.array([row.value for row in rows])
    columns = values, np.ones(len(rows))
    sums, sizes = (np.bincount(cell, column, shape[0] * shape[1]).reshape(shape) for column in columns)
    return _ratio(sums.sum(axis=0), sizes.sum(axis=0)), _resampled_means(sums, sizes, settings)


def _resampled_means(sums: NDArray[Any], sizes: NDArray[Any], settings: _Settings) -> Array:
    """Means from sums and sizes by unit and system. If no unit is shared, each system draws from its own."""
    if (np.count_nonzero(sizes, axis=1) > 1).any():
        drawn = [_ratio(counts @ sums, counts @ sizes) for counts in _draws(len(sums), settings)]
        return np.concatenate(drawn) if drawn else np.empty((0, sums.shape[1]))
    columns = []
    for i, (total, size) in enumerate(zip(sums.T, sizes.T, strict=True)):
        own = size > 0
        stream = _draws(int(own.sum()), replace(settings, seed=settings.seed + i))  # their draws are independent
        columns.append(np.concatenate([np.zeros(0), *(_ratio(c @ total[own], c @ size[own]) for c in stream)]))
    return np.stack(columns, axis=1) if columns else np.empty((0, 0))


def _strengths(found: Sequence[Comparison], systems: Sequence[str], settings: _Settings) -> tuple[Array, Array]:
    """Log strengths of systems, and one row of them per resample."""
    if not found and len(systems) > 1:
        raise InputError(
            "no two systems share an occasion, so nothing can be compared",
            hint="let all systems talk to the same partners from the same openings, or use method mean",
        )
    table = wins(found, systems, _numbers([_occasion(c, settings.by) for c in found]))
    shape = len(systems), len(systems)
    flat = table.reshape(len(table), shape[0] * shape[1])
    drawn = [strengths((counts @ flat).reshape(-1, *shape)) for counts in _draws(len(table), settings)]
    resampled = np.concatenate(drawn) if drawn else np.empty((0, len(systems)))
    return strengths(table.sum(axis=0)), resampled


def _draws(n: int, settings: _Settings) -> Iterator[Array]:
    """How often each of n units was drawn in each resample, as floats because their products are faster."""
    counts = bootstrap_counts(n, settings.n_bootstrap if n else 0, settings.seed)
    return (drawn.astype(np.float64) for drawn in counts)


def _unit(row: DialogueScore, by: Unit, both_sides: bool) -> str:
    return row.partner if by == "partner" else f"{row.content} {row.dialogue}" if both_sides else row.occasion


def _occasion(comparison: Comparison, by: Unit) -> str:
    return comparison.partner if by == "partner" else comparison.occasion


def _numbers(names: Sequence[str]) -> NDArray[np.intp]:
    """Names as numbers from 0, in alphabetical order."""
    place = {name: i for i, name in enumerate(sorted(set(names)))}
    return np.array([place[name] for name in names], dtype=np.intp)


def _ratio(total: NDArray[Any], size: NDArray[Any]) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.round(total / np.where(size == 0, np.nan, size), 12))


# ---- standings -------------------------------------------------------------------------------------------------------


def _standings(
    rows: Sequence[DialogueScore],
    systems: Sequence[str],
    values: Array,
    resampled: Array,
    places: tuple[Array, Array],
) -> list[Standing]:
    """Ranked systems from best to worst, then those without a score by name."""
    ranks, ranges, best = ranks_of(places[0]), _rank_ranges(places[1]), _best(places[1])
    found = []
    for name in sorted({row.system for row in rows}):
        standing = _counted(name, [row for row in rows if row.system == name])
        if name in systems:
            i = systems.index(name)
            ci = percentile_interval(resampled[:, i]) if len(resampled) else None
            standing = replace(
                standing, score=float(values[i]), ci=ci, rank=int(ranks[i]), rank_range=ranges[i], best=best[i]
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


def _rank_ranges(resampled: Array) -> list[tuple[int, int] | None]:
    if not len(resampled):
        return [None] * resampled.shape[1]
    ranks = ranks_of(resampled)
    low = np.percentile(ranks, 2.5, axis=0, method="lower")
    high = np.percentile(ranks, 97.5, axis=0, method="higher")
    return [(int(a), int(b)) for a, b in zip(low, high, strict=True)]


def _best(resampled: Array) -> list[float | None]:
    if not len(resampled):
        return [None] * resampled.shape[1]
    first = ranks_of(resampled) == 1
    return [float(share) for share in (first / first.sum(axis=1, keepdims=True)).mean(axis=0)]


# ---- two systems -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Test:
    p: float | None
    n: int
    paired: bool


def _test(
    pair: tuple[str, str],
    rows: Sequence[DialogueScore],
    shared: Sequence[Comparison],
    settings: _Settings,
) -> _Test:
    """Test of two systems over the occasions they share, or over all their dialogues."""
    n_permutations, seed = settings.n_permutations, settings.seed
    if len(shared) > 1:
        each = np.array([c.difference if settings.method == "mean" else np.sign(c.difference) for c in shared])
        units = np.bincount(_numbers([_occasion(c, settings.by) for c in shared]), each)
        flipped = [(1 - 2 * swapped) @ units for swapped in swapped_units(len(units), n_permutations, seed)]
        differences = np.concatenate(flipped) / len(shared)
        return _Test(permutation_p(differences) if n_permutations else None, len(shared), True)
    values = [np.array([row.value for row in rows if row.system == name]) for name in pair]
    n = sum(map(len, values))
    if not n_permutations or min(map(len, values)) == 0 or n < 3:
        return _Test(None, n, False)
    return _Test(permutation_p(_reassigned(values[0], values[1], n_permutations, seed)), n, False)


def _reassigned(first: Array, second: Array, n_permutations: int, seed: int) -> Array:
    """Differences of means: observed, then with the dialogues randomly reassigned."""
    pooled, rng, n = np.concatenate([first, second]), np.random.default_rng(seed), len(first)
    found = [first.mean() - second.mean()]
    for _ in range(n_permutations):
        order = rng.permutation(pooled)
        found.append(order[:n].mean() - order[n:].mean())
    return np.array(found)


def _differences(
    systems: Sequence[str], values: Array, resampled: Array, places: Array, tests: Sequence[_Test]
) -> list[Difference]:
    p_values = adjusted([test.p for test in tests])
    found = []
    for (i, j), test, p in zip(combinations(range(len(systems)), 2), tests, p_values, strict=True):
        if places[j] > places[i]:
            i, j = j, i
        ci = percentile_interval(resampled[:, i] - resampled[:, j]) if len(resampled) else None
        gap = float(values[i] - values[j])
        found.append((i, j, Difference(systems[i], systems[j], gap, ci, test.p, p, test.n, test.paired)))
    ranks = ranks_of(places)
    found.sort(key=lambda item: (ranks[item[0]], ranks[item[1]], item[2].first, item[2].second))
    return [difference for _, _, difference in found]


# ---- people, signature -----------------------------------------------------------------------------------------------


def _human(systems: Sequence[str], places: tuple[Array, Array], human: Mapping[str, float]) -> dict[str, Estimate]:
    """Correlation over the systems that both rank; the interval shows how much other dialogues would change it."""
    shared = [i for i, name in enumerate(systems) if name in human]
    people = np.array([human[systems[i]] for i in shared])
    estimates = correlate.coefficients(places[0][shared], people)
    rows = places[1][:, shared]
    if not len(rows) or any(math.isnan(e.value) for e in estimates.values()):
        return estimates
    drawn = {name: correlate.by_rows(name, rows, np.broadcast_to(people, rows.shape)) for name in COEFFICIENTS}
    return {name: replace(e, ci=percentile_interval(drawn[name])) for name, e in estimates.items()}


def _signature(rows: Sequence[DialogueScore], settings: _Settings, partner_set: str, survival: bool) -> Signature:
    values = sorted(f"{row.dialogue}\0{row.system}\0{row.value!r}" for row in rows)
    facts: dict[str, object] = {"metric": metric_of(rows), "method": settings.method, "by": settings.by}
    facts["paired-by"] = pairing_of(rows)
    if settings.method == "bradley-terry":
        facts["prior"] = PRIOR
    if settings.lower_is_better:
        facts["better"] = "lower"
    facts |= {"scores": fingerprint(*values), "partners": partner_set, "resamples": settings.n_bootstrap}
    facts |= {"permutations": settings.n_permutations, "seed": settings.seed}
    if survival:
        facts["turns"] = fingerprint(*sorted(f"{row.dialogue}\0{row.system}\0{row.turns!r}" for row in rows))
    return Signature.of("rank", facts)

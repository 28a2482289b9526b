# SPDX-License-Identifier: Apache-2.0
"""Correlation by system: a point is a system's score and mean judgment, over the samples that have both.

A system's score is the metric's value over its samples if it is known (`score_columns.py`), or else the mean of their
scores. Resamples draw contexts with all replies to them if systems share contexts, otherwise samples within each
system. The systems are fixed, so the interval shows what other samples would change, not other systems. The permutation
test swaps the standardised scores of single samples and computes the systems' means again; if one of the two metrics
defines values for sets, it swaps the standardised values of systems.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from interloq.agree.judgments import Judgments
from interloq.agree.score_columns import Column, SetColumn, scores_of
from interloq.agree.system_agreement import without_p_of_few
from interloq.errors import InputError
from interloq.metrics.metric import Array
from interloq.statistics import correlation, significance
from interloq.statistics.correlation import BUILT_IN, Coefficients, complete_rows
from interloq.statistics.estimate import Estimate
from interloq.statistics.resampling import bootstrap_counts
from interloq.statistics.rounding import round_mean

Index = NDArray[np.int64]
NO_INTERVAL = "no interval: resamples repeat replies, and a repeated reply adds nothing to the metric's value"
DECIMALS = 10  # standardised system means are rounded, so that equal means tie in any order of summation


@dataclass(frozen=True, slots=True)
class Systems:
    """A point is a system."""

    system: Index  # of each sample, -1 if it names none
    context: Index
    shared: bool  # whether systems reply to the same contexts
    unnamed: int = 0  # rated samples without a system
    coefficients: Coefficients = field(default_factory=lambda: BUILT_IN)

    def points(self, *columns: Column) -> list[Array]:
        rows, names = self._rows(*columns)
        return [_of_systems(column, rows, names) for column in columns]

    def size(self, *columns: Column) -> int:
        return len(np.unique(self._rows(*columns)[1]))

    def values(self, x: Column, y: Array) -> dict[str, float]:
        return correlation.values(*self.points(x, y), chosen=self.coefficients)

    def estimates(self, x: Column, y: Array) -> dict[str, Estimate]:
        estimates = without_p_of_few(correlation.coefficients(*self.points(x, y), chosen=self.coefficients))
        if isinstance(x, SetColumn) and not x.resamples:
            estimates = {name: replace(e, note=e.note or NO_INTERVAL) for name, e in estimates.items()}
        return estimates

    def resample(self, x: Column, y: Array, n_bootstrap: int, seed: int) -> dict[str, Array]:
        if isinstance(x, SetColumn) and not x.resamples:
            return dict.fromkeys(self.coefficients, np.zeros(0))
        rows, names = self._rows(x, y)
        of_x = self._draw_means(x, rows, names, n_bootstrap, seed)
        of_y = self._draw_means(y, rows, names, n_bootstrap, seed)
        return {name: correlation.by_rows(coefficient, of_x, of_y) for name, coefficient in self.coefficients.items()}

    def _draw_means(self, column: Column, rows: NDArray[np.intp], names: Index, n_bootstrap: int, seed: int) -> Array:
        """Return one row of system scores per resample; the resamples are the same for every column."""
        if self.shared:
            context = np.unique(self.context[rows], return_inverse=True)[1]
            if isinstance(column, SetColumn):
                return _sets_by_contexts(column, rows, names, context, n_bootstrap, seed)
            return _by_contexts(significance.z_scores(column[rows]), names, context, n_bootstrap, seed)
        if isinstance(column, SetColumn):
            return _sets_within_systems(column, rows, names, n_bootstrap, seed)
        return _within_systems(significance.z_scores(column[rows]), names, n_bootstrap, seed)

    def exchange(self, first: Column, second: Column, y: Array, n_permutations: int, seed: int) -> dict[str, Array]:
        rows, names = self._rows(first, second, y)
        if isinstance(first, SetColumn) or isinstance(second, SetColumn):
            a, b, people = self.points(first, second, y)
            a, b, names = significance.z_scores(a), significance.z_scores(b), np.arange(len(a))
            rows = np.arange(len(a))
        else:
            a, b = significance.z_scores(first[rows]), significance.z_scores(second[rows])
            people = _of_systems(y, rows, names)
        parts: dict[str, list[Array]] = {}
        for swapped in significance.swaps(len(rows), n_permutations, seed):
            mixed_a, mixed_b = _system_means(names, a + swapped * (b - a)), _system_means(names, b + swapped * (a - b))
            target = np.broadcast_to(people, mixed_a.shape)
            for name, coefficient in self.coefficients.items():
                with_a = correlation.by_rows(coefficient, mixed_a, target)
                with_b = correlation.by_rows(coefficient, mixed_b, target)
                parts.setdefault(name, []).append(with_a - with_b)
        return {name: np.concatenate(part) for name, part in parts.items()}

    def notes(self) -> list[str]:
        how = "contexts, with all replies to them" if self.shared else "samples within each system"
        notes = [f"resamples draw {how}; the systems are fixed"]
        if self.unnamed:
            notes.append(f"rated samples without a system, excluded: {self.unnamed}")
        return notes

    def _rows(self, *columns: Column) -> tuple[NDArray[np.intp], Index]:
        """Return the usable samples and, for each, its system as a number from 0."""
        rows = complete_rows(*map(scores_of, columns))
        rows = rows[self.system[rows] >= 0]
        return rows, np.unique(self.system[rows], return_inverse=True)[1]


def systems(judgments: Judgments) -> Systems:
    """Return the level over the systems that were rated; at least two are needed."""
    names = judgments.rated_systems()
    if len(names) < 2:
        seen = f"only {names[0]!r}" if names else "none"
        raise InputError(
            f"by='system' needs at least two systems with rated samples, found {seen}", hint="use by='none'"
        )
    number = {name: i for i, name in enumerate(names)}
    system = np.array([number.get(name, -1) for name in judgments.systems], dtype=np.int64)
    rated = judgments.sizes() > 0
    cells = np.unique(np.stack([judgments.contexts, system])[:, rated & (system >= 0)], axis=1)
    shared = bool((np.bincount(cells[0]) > 1).any())
    return Systems(system, judgments.contexts, shared, int((rated & (system < 0)).sum()))


def _of_systems(column: Column, rows: NDArray[np.intp], names: Index) -> Array:
    """Return one number per system: the metric's value over its samples, or the mean of their standardised scores."""
    if not isinstance(column, SetColumn):
        return np.asarray(_system_means(names, significance.z_scores(column[rows])[None])[0])
    values = []
    for i in range(int(names.max(initial=-1)) + 1):
        samples = rows[names == i]
        once = np.ones((1, len(samples)), dtype=np.int64)
        values.append(float(column.of_sets(once, samples)[0]))
    return round_mean(values, np.abs(values))


def _sets_by_contexts(
    column: SetColumn, rows: NDArray[np.intp], names: Index, context: Index, n_bootstrap: int, seed: int
) -> Array:
    """Return values of systems when contexts are drawn; NaN for a system in none of the drawn contexts."""
    members = [names == i for i in range(int(names.max(initial=-1)) + 1)]
    parts: list[Array] = []
    for drawn in bootstrap_counts(int(context.max(initial=-1)) + 1, n_bootstrap, seed):
        by_system = [column.of_sets(drawn[:, context[member]], rows[member]) for member in members]
        parts.append(np.stack(by_system, axis=1))
    values = np.concatenate(parts)
    return round_mean(values, np.abs(values))


def _sets_within_systems(column: SetColumn, rows: NDArray[np.intp], names: Index, n_bootstrap: int, seed: int) -> Array:
    """Return values of systems when each system draws from its own samples."""
    columns = []
    for i in range(int(names.max(initial=-1)) + 1):
        samples = rows[names == i]
        drawn = bootstrap_counts(len(samples), n_bootstrap, seed + i)
        columns.append(np.concatenate([column.of_sets(counts, samples) for counts in drawn]))
    values = np.stack(columns, axis=1)
    return round_mean(values, np.abs(values))


def _system_means(system: Index, columns: Array) -> Array:
    """Return one row per column, one number per system."""
    member = np.eye(int(system.max(initial=-1)) + 1)[system]
    return np.asarray(np.round(columns @ (member / member.sum(axis=0)), DECIMALS))


def _by_contexts(scores: Array, system: Index, context: Index, n_bootstrap: int, seed: int) -> Array:
    """Return system means when contexts are drawn; NaN for a system in none of the drawn contexts."""
    shape = int(context.max(initial=-1)) + 1, int(system.max(initial=-1)) + 1
    cell = context * shape[1] + system
    totals = np.bincount(cell, scores, shape[0] * shape[1]).reshape(shape)
    numbers = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    parts: list[Array] = []
    for drawn in bootstrap_counts(shape[0], n_bootstrap, seed):
        sizes = (drawn @ numbers).astype(np.float64)
        sizes[sizes == 0] = np.nan
        parts.append(np.round(drawn @ totals / sizes, DECIMALS))
    return np.concatenate(parts)


def _within_systems(scores: Array, system: Index, n_bootstrap: int, seed: int) -> Array:
    """Return system means when each system draws from its own samples."""
    means = np.empty((n_bootstrap, int(system.max(initial=-1)) + 1))
    for i in range(means.shape[1]):
        system_scores = scores[system == i]
        drawn = bootstrap_counts(len(system_scores), n_bootstrap, seed + i)  # one stream per system: independent draws
        totals = np.concatenate([counts @ system_scores for counts in drawn])
        means[:, i] = np.round(totals / len(system_scores), DECIMALS)
    return means

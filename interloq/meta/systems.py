"""Correlation by system: a point is a system's mean score and mean judgment, over the samples that have both.

Resamples draw contexts where systems share them, with all replies to them, else samples within each system. The systems
stay, so the interval says what other samples would change, not what other systems would. The permutation test exchanges
the standardised scores of single samples and takes the systems' means again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.meta import correlate, significance
from interloq.meta.correlate import complete
from interloq.meta.judgments import Judgments
from interloq.meta.table import COEFFICIENTS, Estimate
from interloq.metrics.evaluate import bootstrap_counts
from interloq.metrics.metric import Array

Index = NDArray[np.int64]
DECIMALS = 10  # of standardised system means, so that equal means tie whatever the order of summing


@dataclass(frozen=True, slots=True)
class Systems:
    system: Index  # of each sample, -1 where it names none
    context: Index
    shared: bool  # whether systems reply to the same contexts
    unnamed: int = 0  # rated samples of no system

    def points(self, *columns: Array) -> list[Array]:
        rows, names = self._rows(*columns)
        return list(_system_means(names, np.array([significance.z_scores(column[rows]) for column in columns])))

    def size(self, *columns: Array) -> int:
        return len(np.unique(self._rows(*columns)[1]))

    def values(self, x: Array, y: Array) -> dict[str, float]:
        return correlate.values(*self.points(x, y))

    def estimates(self, x: Array, y: Array) -> dict[str, Estimate]:
        return correlate.coefficients(*self.points(x, y))

    def resampled(self, x: Array, y: Array, n_bootstrap: int, seed: int) -> dict[str, Array]:
        rows, names = self._rows(x, y)
        columns = np.array([significance.z_scores(column[rows]) for column in (x, y)])
        if self.shared:
            context = np.unique(self.context[rows], return_inverse=True)[1]
            means = _by_contexts(columns, names, context, n_bootstrap, seed)
        else:
            means = _within_systems(columns, names, n_bootstrap, seed)
        return {name: correlate.by_rows(name, means[0], means[1]) for name in COEFFICIENTS}

    def exchanged(self, first: Array, second: Array, y: Array, n_permutations: int, seed: int) -> dict[str, Array]:
        rows, names = self._rows(first, second, y)
        a, b, y = (significance.z_scores(column[rows]) for column in (first, second, y))
        (people,) = _system_means(names, y[None])
        parts: dict[str, list[Array]] = {name: [] for name in COEFFICIENTS}
        for swapped in significance.swaps(len(rows), n_permutations, seed):
            mixed = _system_means(names, a + swapped * (b - a)), _system_means(names, b + swapped * (a - b))
            target = np.broadcast_to(people, mixed[0].shape)
            for name, part in parts.items():
                found = [correlate.by_rows(name, means, target) for means in mixed]
                part.append(found[0] - found[1])
        return {name: np.concatenate(part) for name, part in parts.items()}

    def notes(self) -> list[str]:
        how = "contexts, with all replies to them" if self.shared else "samples within each system"
        missing = [f"rated samples that name no system, left out: {self.unnamed}"] if self.unnamed else []
        return [f"bootstrap resamples {how}; the systems stay the same", *missing]

    def _rows(self, *columns: Array) -> tuple[NDArray[np.intp], Index]:
        """The usable samples and, for each, its system as a number from 0."""
        rows = complete(*columns)
        rows = rows[self.system[rows] >= 0]
        return rows, np.unique(self.system[rows], return_inverse=True)[1]


def systems(judgments: Judgments) -> Systems:
    """The level over the systems that were rated; at least two are needed."""
    rated = judgments.sizes() > 0
    names = sorted({name for name, kept in zip(judgments.systems, rated, strict=True) if kept and name})
    if len(names) < 2:
        seen = f"only {names[0]!r}" if names else "none"
        raise InputError(
            f"by='system' needs at least two systems with rated samples, found {seen}", cure="use by='none'"
        )
    number = {name: i for i, name in enumerate(names)}
    system = np.array([number.get(name, -1) for name in judgments.systems], dtype=np.int64)
    cells = np.unique(np.stack([judgments.contexts, system])[:, rated & (system >= 0)], axis=1)
    shared = bool((np.bincount(cells[0]) > 1).any())
    return Systems(system, judgments.contexts, shared, int((rated & (system < 0)).sum()))


def _system_means(system: Index, columns: Array) -> Array:
    """A row a column, a number a system."""
    member = np.eye(int(system.max(initial=-1)) + 1)[system]
    return np.asarray(np.round(columns @ (member / member.sum(axis=0)), DECIMALS))


def _by_contexts(columns: Array, system: Index, context: Index, n_bootstrap: int, seed: int) -> list[Array]:
    """System means of each column when contexts are drawn; NaN for a system that no drawn context has."""
    shape = int(context.max(initial=-1)) + 1, int(system.max(initial=-1)) + 1
    cell = context * shape[1] + system
    sums = [np.bincount(cell, weights, shape[0] * shape[1]).reshape(shape) for weights in (*columns, None)]
    parts: list[list[Array]] = [[] for _ in columns]
    for drawn in bootstrap_counts(shape[0], n_bootstrap, seed):
        sizes = (drawn @ sums[-1]).astype(np.float64)
        sizes[sizes == 0] = np.nan
        for part, total in zip(parts, sums, strict=False):
            part.append(np.round(drawn @ total / sizes, DECIMALS))
    return [np.concatenate(part) for part in parts]


def _within_systems(columns: Array, system: Index, n_bootstrap: int, seed: int) -> list[Array]:
    """System means of each column when each system draws from its own samples."""
    means = np.empty((len(columns), n_bootstrap, int(system.max(initial=-1)) + 1))
    for i in range(means.shape[2]):
        own = columns[:, system == i].T
        drawn = bootstrap_counts(len(own), n_bootstrap, seed + i)  # a stream a system: their draws are independent
        means[:, :, i] = np.round(np.concatenate([counts @ own for counts in drawn]).T / len(own), DECIMALS)
    return list(means)

# SPDX-License-Identifier: Apache-2.0
"""Levels of correlation: over all samples, over systems, or over the replies to each context.

`by='none'`    a point is a sample; resamples draw samples, or dialogues if samples name theirs. In this module.
`by='system'`  a point is a system. In `by_system.py`.
`by='sample'`  a coefficient within each context, averaged over contexts. In `by_context.py`.
`by='user'`    the same within each user. In `by_user.py`.

Columns have one number per sample, NaN if it is missing; only samples with a number in every column are used.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from interloq.agree.by_context import contexts
from interloq.agree.by_system import systems
from interloq.agree.by_user import users
from interloq.agree.judgments import Index, Judgments
from interloq.agree.score_columns import Column, scores_of
from interloq.agree.table import By
from interloq.errors import InputError, count
from interloq.metrics.metric import Array
from interloq.statistics import correlation, significance
from interloq.statistics.correlation import BUILT_IN, Coefficients, complete_rows
from interloq.statistics.estimate import Estimate


class Level(Protocol):
    """Defines the points of a correlation and the coefficients computed over them."""

    @property
    def coefficients(self) -> Coefficients:
        """The computed coefficients, by name."""

    def points(self, *columns: Column) -> list[Array] | None:
        """Return the points, or None if a coefficient is an average over several sets of points."""

    def size(self, *columns: Column) -> int:
        """Return the number of points, or sets of points, used in a comparison of these columns."""

    def values(self, x: Column, y: Array) -> dict[str, float]:
        """Return the coefficients without p-values."""

    def estimates(self, x: Column, y: Array) -> dict[str, Estimate]:
        """Return the coefficients with p-values and notes."""

    def resample(self, x: Column, y: Array, n_bootstrap: int, seed: int) -> dict[str, Array]:
        """Return the coefficients in each bootstrap resample."""

    def exchange(self, first: Column, second: Column, y: Array, n_permutations: int, seed: int) -> dict[str, Array]:
        """Return differences between two metrics' coefficients: observed, then after each random permutation."""

    def notes(self) -> list[str]:
        """Return notes on the points for the reader."""


def level(by: By, judgments: Judgments, coefficients: Coefficients = BUILT_IN) -> Level:
    """Return the level with this name over these samples."""
    if by == "none":
        clusters = judgments.clusters()
        if any(judgments.dialogues) and len(np.unique(clusters)) < len(clusters):
            return Samples(coefficients, clusters)
        return Samples(coefficients)
    if by == "system":
        return replace(systems(judgments), coefficients=coefficients)
    if by == "sample":
        return replace(contexts(judgments), coefficients=coefficients)
    if by == "user":
        return replace(users(judgments), coefficients=coefficients)
    raise InputError(f"cannot correlate by {by!r}", hint="by is none, system, sample or user")


@dataclass(frozen=True, slots=True)
class Samples:
    """A point is a sample. If dialogues are named, whole `clusters` are resampled, and there are no p-values."""

    coefficients: Coefficients = field(default_factory=lambda: BUILT_IN)
    clusters: Index | None = None  # number of each sample's dialogue

    def points(self, *columns: Column) -> list[Array]:
        scores = [scores_of(column) for column in columns]
        rows = complete_rows(*scores)
        return [column[rows] for column in scores]

    def _clusters(self, *columns: Column) -> Index | None:
        """Return the cluster of each point, numbered from 0."""
        if self.clusters is None:
            return None
        rows = complete_rows(*map(scores_of, columns))
        return np.asarray(np.unique(self.clusters[rows], return_inverse=True)[1], dtype=np.int64)

    def size(self, *columns: Column) -> int:
        return len(complete_rows(*map(scores_of, columns)))

    def values(self, x: Column, y: Array) -> dict[str, float]:
        return correlation.values(*self.points(x, y), chosen=self.coefficients)

    def estimates(self, x: Column, y: Array) -> dict[str, Estimate]:
        estimates = correlation.coefficients(*self.points(x, y), chosen=self.coefficients)
        if self.clusters is not None:
            estimates = {name: replace(estimate, p=None) for name, estimate in estimates.items()}
        return estimates

    def resample(self, x: Column, y: Array, n_bootstrap: int, seed: int) -> dict[str, Array]:
        points, clusters = self.points(x, y), self._clusters(x, y)
        chosen = self.coefficients
        return correlation.resample_coefficients(
            *points, n_bootstrap=n_bootstrap, seed=seed, chosen=chosen, cluster=clusters
        )

    def exchange(self, first: Column, second: Column, y: Array, n_permutations: int, seed: int) -> dict[str, Array]:
        a, b, people = self.points(first, second, y)
        clusters = self._clusters(first, second, y)
        n = len(people)
        if clusters is not None:
            n = int(clusters.max(initial=-1)) + 1
        parts: dict[str, list[Array]] = {}
        for swapped in significance.swaps(n, n_permutations, seed):
            if clusters is not None:
                swapped = swapped[:, clusters]
            for name, coefficient in self.coefficients.items():
                parts.setdefault(name, []).append(significance.differences(coefficient, a, b, people, swapped))
        return {name: np.concatenate(part) for name, part in parts.items()}

    def notes(self) -> list[str]:
        if self.clusters is None:
            return []
        n = count(len(np.unique(self.clusters)), "dialogue")
        return [f"samples belong to {n}: these are resampled, and there are no p-values of coefficients"]

# SPDX-License-Identifier: Apache-2.0
"""Levels of correlation: over all samples, over systems, or over the replies to each context.

`by='none'`    a point is a sample; resamples draw samples. In this module.
`by='system'`  a point is a system. In `systems.py`.
`by='sample'`  a coefficient within each context, averaged over contexts. In `contexts.py`.
`by='user'`    the same within each user. In `users.py`.

Columns have one number per sample, NaN if it is missing; only samples with a number in every column are used.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from interloq.errors import InputError
from interloq.meta import correlate, significance
from interloq.meta.coefficients import BUILT_IN, Coefficients
from interloq.meta.contexts import contexts
from interloq.meta.correlate import complete
from interloq.meta.judgments import Judgments
from interloq.meta.set_scores import Column, scores_of
from interloq.meta.systems import systems
from interloq.meta.table import By, Estimate
from interloq.meta.users import users
from interloq.metrics.metric import Array


class Level(Protocol):
    """Defines the points of a correlation and the coefficients computed over them."""

    @property
    def coefficients(self) -> Coefficients:
        """The computed coefficients, by name."""

    def points(self, *columns: Column) -> list[Array] | None:
        """The points, or None if a coefficient is an average over several sets of points."""

    def size(self, *columns: Column) -> int:
        """Number of points, or sets of points, used in a comparison of these columns."""

    def values(self, x: Column, y: Array) -> dict[str, float]:
        """The coefficients without p-values."""

    def estimates(self, x: Column, y: Array) -> dict[str, Estimate]:
        """The coefficients with p-values and notes."""

    def resampled(self, x: Column, y: Array, n_bootstrap: int, seed: int) -> dict[str, Array]:
        """The coefficients in each bootstrap resample."""

    def exchanged(self, first: Column, second: Column, y: Array, n_permutations: int, seed: int) -> dict[str, Array]:
        """Differences between two metrics' coefficients: observed, then after each random permutation."""

    def notes(self) -> list[str]:
        """Notes on the points for the reader."""


def level(by: By, judgments: Judgments, coefficients: Coefficients = BUILT_IN) -> Level:
    """The level with this name over these samples."""
    if by == "none":
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
    """A point is a sample."""

    coefficients: Coefficients = field(default_factory=lambda: BUILT_IN)

    def points(self, *columns: Column) -> list[Array]:
        scores = [scores_of(column) for column in columns]
        rows = complete(*scores)
        return [column[rows] for column in scores]

    def size(self, *columns: Column) -> int:
        return len(complete(*map(scores_of, columns)))

    def values(self, x: Column, y: Array) -> dict[str, float]:
        return correlate.values(*self.points(x, y), chosen=self.coefficients)

    def estimates(self, x: Column, y: Array) -> dict[str, Estimate]:
        return correlate.coefficients(*self.points(x, y), chosen=self.coefficients)

    def resampled(self, x: Column, y: Array, n_bootstrap: int, seed: int) -> dict[str, Array]:
        points = self.points(x, y)
        return correlate.resampled(*points, n_bootstrap=n_bootstrap, seed=seed, chosen=self.coefficients)

    def exchanged(self, first: Column, second: Column, y: Array, n_permutations: int, seed: int) -> dict[str, Array]:
        a, b, y = self.points(first, second, y)
        parts: dict[str, list[Array]] = {name: [] for name in self.coefficients}
        for swapped in significance.swaps(len(y), n_permutations, seed):
            for name, one in self.coefficients.items():
                parts[name].append(significance.differences(one, a, b, y, swapped))
        return {name: np.concatenate(part) for name, part in parts.items()}

    def notes(self) -> list[str]:
        return []

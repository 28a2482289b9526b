# SPDX-License-Identifier: Apache-2.0
"""Correlation by sample: a coefficient within each context that has at least three replies, averaged over contexts.

Resamples draw contexts. The p-value is from a t-test of the contexts' coefficients against 0. The permutation test
swaps scores that were standardised within their context.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from interloq.agree.judgments import Judgments
from interloq.agree.score_columns import Column, scores_of
from interloq.errors import InputError
from interloq.metrics.metric import Array
from interloq.statistics import correlation, significance
from interloq.statistics.correlation import BUILT_IN, Coefficients, Correlation, complete_rows, is_constant
from interloq.statistics.estimate import Estimate
from interloq.statistics.resampling import bootstrap_counts

Index = NDArray[np.int64]
Rows = NDArray[np.intp]
FEWEST_REPLIES = 3


@dataclass(frozen=True, slots=True)
class Contexts:
    """A coefficient within each context, averaged."""

    context: Index  # number of each sample, negative if it is not used
    usable: int  # contexts with enough rated replies
    skipped: int  # contexts with fewer
    coefficients: Coefficients = field(default_factory=lambda: BUILT_IN)
    unit: str = "context"  # what a group of replies is called in notes

    def points(self, *_: Column) -> None:
        return None

    def size(self, *columns: Column) -> int:
        scores = [scores_of(column) for column in columns]
        return sum(len(_find_varying(rows, *scores)) for rows in self._groups(*scores))

    def values(self, x: Column, y: Array) -> dict[str, float]:
        return {name: estimate.value for name, estimate in self.estimates(x, y).items()}

    def estimates(self, x: Column, y: Array) -> dict[str, Estimate]:
        return {name: _average(values, self.unit) for name, values in self._by_context(x, y).items()}

    def resample(self, x: Column, y: Array, n_bootstrap: int, seed: int) -> dict[str, Array]:
        resamples = {}
        for name, values in self._by_context(x, y).items():
            known = values[~np.isnan(values)]
            means = [drawn @ known / len(known) for drawn in bootstrap_counts(len(known), n_bootstrap, seed)]
            resamples[name] = np.concatenate(means)
        return resamples

    def exchange(self, first: Column, second: Column, y: Array, n_permutations: int, seed: int) -> dict[str, Array]:
        """Average over the contexts in which both metrics have a coefficient."""
        a, b = scores_of(first), scores_of(second)
        groups = [_find_varying(rows, a, b, y) for rows in self._groups(a, b, y)]
        parts: dict[str, list[Array]] = {}
        for swapped in significance.swaps(len(y), n_permutations, seed):
            for name, coefficient in self.coefficients.items():
                by_size = [_differences(coefficient, a[rows], b[rows], y[rows], swapped[:, rows]) for rows in groups]
                parts.setdefault(name, []).append(_mean(np.concatenate(by_size, axis=1)))
        return {name: np.concatenate(part) for name, part in parts.items()}

    def notes(self) -> list[str]:
        note = f"{self.unit}s with at least {FEWEST_REPLIES} rated replies: {self.usable}"
        if self.skipped:
            note += f"; skipped, with fewer: {self.skipped}"
        return [note]

    def _groups(self, *columns: Array) -> list[Rows]:
        """Return the usable samples as matrices with one row per context, one for each number of replies."""
        rows = complete_rows(*columns)
        rows = rows[self.context[rows] >= 0]
        rows = rows[np.argsort(self.context[rows], kind="stable")]
        starts, sizes = np.unique(self.context[rows], return_index=True, return_counts=True)[1:]
        groups = []
        for size in np.unique(sizes[sizes >= FEWEST_REPLIES]).tolist():
            first_replies = starts[sizes == size]
            groups.append(rows[first_replies[:, None] + np.arange(size)])
        return groups

    def _by_context(self, x: Column, y: Array) -> dict[str, Array]:
        scores = scores_of(x)
        groups = self._groups(scores, y)
        values = {}
        for name, coefficient in self.coefficients.items():
            by_size = [correlation.by_rows(coefficient, scores[rows], y[rows]) for rows in groups]
            values[name] = np.concatenate([np.zeros(0), *by_size])
        return values


def contexts(judgments: Judgments) -> Contexts:
    """Return the level over contexts; at least one context needs enough rated replies."""
    return group_samples(judgments.contexts, judgments.sizes() > 0, by="sample", unit="context")


def group_samples(group: Index, rated: NDArray[np.bool_], *, by: str, unit: str) -> Contexts:
    """Return the level over groups of samples, numbered from 0; samples with a negative number are not used."""
    sizes = np.bincount(group[rated & (group >= 0)])
    usable = int((sizes >= FEWEST_REPLIES).sum())
    if not usable:
        raise InputError(
            f"by={by!r} needs {unit}s with at least {FEWEST_REPLIES} rated replies, "
            f"but no {unit} has more than {sizes.max(initial=0)}",
            hint="use by='none'",
        )
    return Contexts(group, usable, int(((sizes > 0) & (sizes < FEWEST_REPLIES)).sum()), unit=unit)


def _average(values: Array, unit: str) -> Estimate:
    known = values[~np.isnan(values)]
    flat, note = len(values) - len(known), ""
    if flat:
        note = f"{unit}s skipped because scores or judgments are constant: {flat}"
    if not len(known):
        return Estimate(float("nan"), 0, note=note or f"no {unit} has enough scored replies")
    estimate = Estimate(float(known.mean()), len(known), note=note)
    if len(known) < 2 or is_constant(known):
        return estimate  # a t-test needs variance
    return replace(estimate, p=float(stats.ttest_1samp(known, 0.0).pvalue))


def _find_varying(rows: Rows, *columns: Array) -> Rows:
    """Return the rows of the contexts in which no column is constant."""
    flat = np.any([is_constant(column[rows]) for column in columns], axis=0)
    return np.asarray(rows[~flat])


def _differences(coefficient: str | Correlation, first: Array, second: Array, y: Array, swapped: Array) -> Array:
    """Return one difference per permutation (row) and context (column); scores are standardised within the context."""
    scale = significance.z_scores
    if coefficient in ("spearman", "kendall"):
        scale = correlation.midranks
    if coefficient == "spearman":
        coefficient = "pearson"  # of mixed ranks as they are: ranking them again would change what was swapped
    a, b = scale(first), scale(second)
    target = np.broadcast_to(scale(y), swapped.shape).reshape(-1, y.shape[1])
    mixed_a, mixed_b = a + swapped * (b - a), b + swapped * (a - b)
    of_a = correlation.by_rows(coefficient, mixed_a.reshape(target.shape), target)
    of_b = correlation.by_rows(coefficient, mixed_b.reshape(target.shape), target)
    return (of_a - of_b).reshape(swapped.shape[:2])


def _mean(differences: Array) -> Array:
    """Return the mean over contexts, except those in which swapping made a metric constant."""
    known = ~np.isnan(differences)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, differences, 0.0).sum(axis=1) / known.sum(axis=1))

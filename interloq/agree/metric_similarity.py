# SPDX-License-Identifier: Apache-2.0
"""How similar metrics are to each other: Spearman's ρ between all pairs of score columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interloq.records import Key
from interloq.statistics.estimate import Estimate

FEWEST = 3  # with two samples, ρ is always 1 or −1


@dataclass(frozen=True, slots=True)
class Matrix:
    """ρ of `names[i]` and `names[j]` is `cells[i][j]`."""

    names: tuple[str, ...]
    cells: tuple[tuple[Estimate, ...], ...]


def spearman_matrix(columns: Mapping[str, Mapping[Key, float]]) -> Matrix:
    """Compute Spearman's ρ between all pairs of columns, which map samples to values; NaN counts as missing.

    Each cell uses the samples that both columns have.
    """
    values = _align_columns(list(columns.values()))
    cells: list[list[Estimate]] = [[] for _ in values]
    for i, first in enumerate(values):
        for j in range(i):
            estimate = _spearman(first, values[j])
            cells[i].append(estimate)
            cells[j].append(estimate)
        cells[i].append(_spearman(first, first))
    return Matrix(tuple(columns), tuple(map(tuple, cells)))


def _align_columns(columns: Sequence[Mapping[Key, float]]) -> NDArray[np.float64]:
    """Return one row per column, over the same sorted samples."""
    keys = sorted(set().union(*columns))
    values = np.empty((len(columns), len(keys)))
    for row, column in zip(values, columns, strict=True):
        row[:] = [column.get(key, np.nan) for key in keys]
    return values


def _spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> Estimate:
    both = ~(np.isnan(first) | np.isnan(second))
    n = int(both.sum())
    if n < FEWEST:
        return Estimate(float("nan"), n, note=f"fewer than {FEWEST} samples have both values")
    x, y = _centred_ranks(first[both]), _centred_ranks(second[both])
    scale = float(np.sqrt((x @ x) * (y @ y)))
    if scale == 0:
        return Estimate(float("nan"), n, note="every sample has the same value")
    return Estimate(min(1.0, max(-1.0, float(x @ y) / scale)), n)


def _centred_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks minus their mean; tied values share their mean rank."""
    from scipy.stats import rankdata

    ranks = np.asarray(rankdata(values), dtype=np.float64)
    return ranks - (len(ranks) + 1) / 2

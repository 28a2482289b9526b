# SPDX-License-Identifier: Apache-2.0
"""Pearson's r, Spearman's ρ (average ranks) and Kendall's τ-b of each row of two matrices; NaN if undefined."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]
BLOCK = 2**21  # numbers in memory at a time
NEARLY_CONSTANT = 1e-13  # range relative to size, below which differences are rounding errors


def constant(x: Array) -> Any:
    """Whether all values along the last axis are equal up to rounding."""
    return np.ptp(x, axis=-1) <= NEARLY_CONSTANT * np.abs(x).max(axis=-1)


def pearson_rows(x: Array, y: Array) -> Array:
    """Pearson's r per row."""
    flat = constant(x) | constant(y)
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    coefficient = ratio(dot(x, y), dot(x, x), dot(y, y))
    coefficient[flat] = np.nan  # rounding may leave a tiny variance
    return coefficient


def spearman_rows(x: Array, y: Array) -> Array:
    """Spearman's ρ per row."""
    return pearson_rows(_ranked(x), _ranked(y))


def kendall_rows(x: Array, y: Array) -> Array:
    """Kendall's τ-b per row, from matrices of signs."""
    x, y = np.broadcast_arrays(x, y)
    step = max(1, BLOCK // max(1, x.shape[1] ** 2))
    parts = [_kendall_rows(x[i : i + step], y[i : i + step]) for i in range(0, len(x), step)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _kendall_rows(x: Array, y: Array) -> Array:
    a, b = (np.sign(z[:, :, None] - z[:, None, :]) for z in (x, y))
    return ratio((a * b).sum(axis=(1, 2)), np.abs(a).sum(axis=(1, 2)), np.abs(b).sum(axis=(1, 2)))


def _ranked(x: Array) -> Array:
    return np.asarray(stats.rankdata(x, axis=1, nan_policy="propagate"), dtype=np.float64)


def dot(x: NDArray[Any], y: NDArray[Any]) -> Array:
    """Dot product of each row."""
    return np.asarray(np.einsum("ij,ij->i", x, y), dtype=np.float64)


def ratio(product: Array, first: Array, second: Array) -> Array:
    """product / √(first · second), clipped to [−1, 1]; NaN if either factor is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.clip(product / (np.sqrt(first) * np.sqrt(second)), -1.0, 1.0)
    return np.where((first > 0) & (second > 0), ratio, np.nan)


BY_ROW = {"pearson": pearson_rows, "spearman": spearman_rows, "kendall": kendall_rows}

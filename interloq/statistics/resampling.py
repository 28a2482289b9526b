# SPDX-License-Identifier: Apache-2.0
"""Resamples as counts, in blocks of bounded size, and the intervals that they give."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from interloq.statistics.estimate import Array

FEW = 1000  # items whose resamples are counted all at once
TAIL = 2.5  # percent outside the 95 % interval on either side


def bootstrap_counts(n: int, n_bootstrap: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield how often each of n items is in each resample, as blocks of rows of bounded size."""
    rng = np.random.default_rng(seed)
    step = max(1, 2**21 // max(n, 1))
    for start in range(0, n_bootstrap, step):
        rows = min(step, n_bootstrap - start)
        drawn = rng.integers(n, size=(rows, n))
        if n < FEW:
            drawn += np.arange(rows)[:, None] * n
            yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        else:  # the counts of one resample stay in a cache
            yield np.stack([np.bincount(row, minlength=n) for row in drawn])


def cluster_counts(cluster: NDArray[np.int64], n_bootstrap: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield how often each item is in each resample of whole clusters; `cluster` has each item's cluster, from 0."""
    step = max(1, 2**21 // max(len(cluster), 1))
    for drawn in bootstrap_counts(int(cluster.max(initial=-1)) + 1, n_bootstrap, seed):
        for start in range(0, len(drawn), step):
            yield drawn[start : start + step, cluster]


def half_counts(n: int, n_draws: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield halves of n items drawn without replacement: rows of 0 and 1, as blocks of bounded size."""
    rng = np.random.default_rng(seed)
    step = max(1, 2**21 // max(n, 1))
    for start in range(0, n_draws, step):
        order = rng.random((min(step, n_draws - start), n)).argpartition(_half(n) - 1, axis=1)
        counts = np.zeros(order.shape, dtype=np.int64)
        np.put_along_axis(counts, order[:, : _half(n)], 1, axis=1)
        yield counts


def _half(n: int) -> int:
    return max(1, n // 2)


def percentile_interval(values: Array) -> tuple[float, float]:
    """Return the middle 95 % of resampled values, ignoring NaN."""
    values = values[~np.isnan(values)]
    if not len(values):
        return (float("nan"), float("nan"))
    low, high = np.percentile(values, [TAIL, 100 - TAIL])
    return (float(low), float(high))


def half_interval(values: Array, n: int) -> tuple[float, float]:
    """Return the interval of the first value, which is of n items, from the other values, which are of halves."""
    value, halves, size = values[0], values[1:], _half(n)
    return percentile_interval(value + (halves - np.nanmean(halves)) * np.sqrt(size / max(n - size, 1)))

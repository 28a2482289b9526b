# SPDX-License-Identifier: Apache-2.0
"""Krippendorff's α (Krippendorff, 2004): agreement of any number of annotators, with judgments missing or unnamed.

α = 1 − D_o / D_e, the disagreement within samples divided by the disagreement expected by chance. For interval
judgments v, with m_u judgments of sample u, their sum L_u and their sum of squares Q_u, over samples with at least two
judgments:

    D_o = Σ_u (m_u Q_u − L_u²)/(m_u − 1),   D_e = (n ΣQ_u − (ΣL_u)²)/(n − 1),   n = Σ m_u.

Ordinal α is the same with each judgment replaced by its mid-rank among all n. All sums are weighted by how often a
resample drew the sample, so α of every resample comes from the same formula. Unlike the usual coincidence
matrix, this needs no memory quadratic in the number of distinct values, so it also works for judgments on a slider.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from interloq.statistics.correlation import BLOCK, Ties
from interloq.statistics.estimate import Array, Estimate
from interloq.statistics.resampling import bootstrap_counts, percentile_interval

Index = NDArray[np.int64]


def alphas(value: Array, sample: Index, *, n_bootstrap: int, seed: int) -> tuple[Estimate, Estimate]:
    """Return interval and ordinal α, with bootstrap intervals over samples.

    `value` holds all judgments, and `sample` the number of the sample that each one judges, in ascending order.
    """
    paired = np.bincount(sample)[sample] > 1
    value, sample = value[paired], np.unique(sample[paired], return_inverse=True)[1]
    n = int(sample.max(initial=-1)) + 1
    if not n:
        nothing = Estimate(float("nan"), 0, note="no sample has two judgments")
        return nothing, nothing
    observed = _alphas(value, sample, np.ones((1, n), dtype=np.int64))[:, 0]
    estimates = []
    for alpha in observed.tolist():
        note = "constant judgments" if math.isnan(alpha) else ""
        estimates.append(Estimate(alpha, n, note=note))
    if n_bootstrap and not np.isnan(observed).any():
        drawn = [_alphas(value, sample, counts) for counts in bootstrap_counts(n, n_bootstrap, seed)]
        for i, resampled in enumerate(np.concatenate(drawn, axis=1)):
            estimates[i] = replace(estimates[i], ci=percentile_interval(resampled))
    return estimates[0], estimates[1]


def _alphas(value: Array, sample: Index, drawn: NDArray[np.int64]) -> Array:
    """Return interval and ordinal α (rows) of each resample (columns); `sample` is ascending, from 0."""
    ties = Ties.of(value)
    step = max(1, BLOCK // len(value))
    parts = []
    for start in range(0, len(drawn), step):
        block = drawn[start : start + step]
        ranks = ties.midranks(ties.counts(block[:, sample]))
        parts.append([_alpha(np.broadcast_to(value, ranks.shape), sample, block), _alpha(ranks, sample, block)])
    return np.concatenate(parts, axis=1)


def _alpha(value: Array, sample: Index, drawn: NDArray[np.int64]) -> Array:
    value = value - value.mean(axis=1, keepdims=True)  # α does not depend on the origin, but rounding does
    starts, m = np.flatnonzero(np.diff(sample, prepend=-1)), np.bincount(sample)
    sums, squares = np.add.reduceat(value, starts, axis=1), np.add.reduceat(value**2, starts, axis=1)
    observed = (drawn * (m * squares - sums**2) / (m - 1)).sum(axis=1)
    n = drawn @ m
    expected = (n * (drawn * squares).sum(axis=1) - (drawn * sums).sum(axis=1) ** 2) / (n - 1)
    several = expected > 1e-12 * (value**2).max(axis=1) * n
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(several, 1 - observed / expected, np.nan)

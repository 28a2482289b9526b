# SPDX-License-Identifier: Apache-2.0
"""Measures of predictions of binary labels, exact in every bootstrap resample.

accuracy = (TP + TN) / n
macro-F1 = mean over both classes of 2 TP / (2 TP + FP + FN); a class that neither occurs nor is predicted is skipped
AUC      = P(score of a positive > score of a negative) + ½ P(equal)
Brier    = mean (p − y)²
ECE      = Σ_b |Σ_(i in b) (y_i − p_i)| / n,  ten bins of equal width, as in learn/calibrate.py

All but the AUC are functions of sums over samples, so resamples of clusters are products of counts and sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from interloq.statistics.correlation import Counts, Ties, dot
from interloq.statistics.estimate import Array, Estimate
from interloq.statistics.resampling import bootstrap_counts, cluster_counts, percentile_interval

Labels = NDArray[np.bool_]
BINS = 10


def measure_decisions(
    predicted: Labels, labels: Labels, cluster: Counts, n_bootstrap: int, seed: int
) -> dict[str, Estimate]:
    """Return accuracy and macro-F1 of predicted labels."""
    cells = predicted & labels, predicted & ~labels, ~predicted & labels, ~predicted & ~labels
    rows = np.stack(cells, axis=1).astype(np.float64)
    return _measure_sums({"accuracy": _accuracy, "macro_f1": _macro_f1}, rows, cluster, n_bootstrap, seed)


def measure_probabilities(
    p: Array, labels: Labels, cluster: Counts, n_bootstrap: int, seed: int
) -> dict[str, Estimate]:
    """Return calibration error and Brier score of probabilities of the label 1."""
    miss = labels - p
    which = np.searchsorted(np.arange(1, BINS) / BINS, p, side="right")
    rows = np.column_stack([np.ones(len(p)), miss**2, np.eye(BINS)[which] * miss[:, None]])
    return _measure_sums({"ece": _calibration_error, "brier": _brier}, rows, cluster, n_bootstrap, seed)


def measure_auc(scores: Array, labels: Labels, cluster: Counts, n_bootstrap: int, seed: int) -> Estimate:
    """Return the AUC of scores of any scale; NaN if all labels are equal."""
    n, ties = len(scores), Ties.of(scores)
    value = float("nan")
    if n:
        value = float(_auc(ties, labels, np.ones((1, n), dtype=np.int64))[0])
    if np.isnan(value):
        return Estimate(value, n, note="all labels are equal")
    if not n_bootstrap:
        return Estimate(value, n)
    drawn = [_auc(ties, labels, counts) for counts in cluster_counts(cluster, n_bootstrap, seed)]
    return Estimate(value, n, percentile_interval(np.concatenate(drawn)))


def _auc(ties: Ties, labels: Labels, drawn: Counts) -> Array:
    """Return the AUC in each resample, from the mean rank of positives."""
    ranks = ties.midranks(ties.counts(drawn))
    positives = (drawn * labels).sum(axis=1)
    negatives = drawn.sum(axis=1) - positives
    above = dot(drawn * labels, ranks) - positives * (positives + 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(above / (positives * negatives))


def _measure_sums(
    measures: Mapping[str, Callable[[Array], Array]], rows: Array, cluster: Counts, n_bootstrap: int, seed: int
) -> dict[str, Estimate]:
    """Return functions of sums of rows, with intervals from resamples of clusters."""
    if not len(rows):
        return {name: Estimate(float("nan"), 0, note="no sample has a score and a label") for name in measures}
    sums = np.zeros((int(cluster.max()) + 1, rows.shape[1]))
    np.add.at(sums, cluster, rows)
    drawn = [counts @ sums for counts in bootstrap_counts(len(sums), n_bootstrap, seed)]
    estimates = {}
    for name, measure in measures.items():
        ci = None
        if drawn:
            ci = percentile_interval(np.concatenate(list(map(measure, drawn))))
        estimates[name] = Estimate(float(measure(sums.sum(axis=0, keepdims=True))[0]), len(rows), ci)
    return estimates


def _accuracy(total: Array) -> Array:
    return np.asarray((total[:, 0] + total[:, 3]) / total.sum(axis=1))


def _macro_f1(total: Array) -> Array:
    right, wrong = total[:, [0, 3]], total[:, 1] + total[:, 2]
    size = 2 * right + wrong[:, None]
    f1 = np.divide(2 * right, size, out=np.zeros_like(right), where=size > 0)
    return np.asarray(f1.sum(axis=1) / (size > 0).sum(axis=1))


def _calibration_error(total: Array) -> Array:
    return np.asarray(np.abs(total[:, 2:]).sum(axis=1) / total[:, 0])


def _brier(total: Array) -> Array:
    return np.asarray(total[:, 1] / total[:, 0])

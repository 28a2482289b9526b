# SPDX-License-Identifier: Apache-2.0
"""Calibration of a rater's probabilities: reliability, calibration error and temperature scaling.

Labels are 1 (a valid reply) and 0. Probabilities are P(valid); a logit is log P(valid) − log P(not valid).

ECE   = Σ_b n_b/n · |share of valid replies in bin b − mean probability in bin b|,  bins of equal width
Brier = mean (p − y)²,  NLL = mean −log P(the label)

Temperature scaling (Guo et al., 2017) divides every logit by one number T, chosen on data not used for training. T > 1
makes an over-confident rater less confident; neither the order of logits nor their signs change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from interloq.errors import InputError

Array = NDArray[np.float64]
CALIBRATION = "calibration.json"  # in the folder of a trained model
ROUNDING = 1e-12  # a smaller improvement may be rounding error
LARGEST = 100.0  # temperature: above it every probability is near one half; its inverse is the smallest one


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Probabilities from `low` to `high`; confidence and share are None for an empty bin."""

    low: float
    high: float
    count: int
    confidence: float | None  # mean P(valid)
    positive: float | None  # share of valid replies


def reliability(probabilities: ArrayLike, labels: ArrayLike, *, bins: int = 10) -> list[CalibrationBin]:
    """Return the reliability table. A probability on the edge of two bins counts in the upper one."""
    p, y = _check_values(probabilities, labels, probabilities=True)
    if bins < 1:
        raise InputError(f"bins must be at least 1, got {bins}")
    which = np.searchsorted(np.arange(1, bins) / bins, p, side="right")
    return [_bin(b / bins, (b + 1) / bins, p[which == b], y[which == b]) for b in range(bins)]


def _bin(low: float, high: float, p: Array, y: Array) -> CalibrationBin:
    if not len(p):
        return CalibrationBin(low, high, 0, None, None)
    return CalibrationBin(low, high, len(p), float(p.mean()), float(y.mean()))


def calibration_error(table: Sequence[CalibrationBin]) -> float:
    """Return the ECE of a reliability table."""
    known = [(row.count, row.confidence or 0.0, row.positive or 0.0) for row in table if row.count]
    return sum(n * abs(positive - confidence) for n, confidence, positive in known) / sum(n for n, *_ in known)


def brier_score(probabilities: ArrayLike, labels: ArrayLike) -> float:
    """Return the mean squared difference between probabilities and labels."""
    p, y = _check_values(probabilities, labels, probabilities=True)
    return float(np.mean((p - y) ** 2))


def negative_log_likelihood(logits: ArrayLike, labels: ArrayLike) -> float:
    """Return the NLL, from logits because probabilities that were rounded to 0 or 1 have no finite logarithm."""
    z, y = _check_values(logits, labels)
    return float(np.mean(np.logaddexp(0.0, np.where(y == 1, -z, z))))


def probabilities(logits: ArrayLike, temperature: float = 1.0) -> Array:
    """Return P(valid) for each logit, without overflow."""
    z = np.asarray(logits, dtype=np.float64) / temperature
    return np.asarray(np.exp(-np.logaddexp(0.0, -z)))


def fit_temperature(logits: ArrayLike, labels: ArrayLike) -> float:
    """Return the T from 1/100 to 100 that makes the labels most likely; 1 if no other T is better.

    In 1/T the NLL is convex and its slope Σ z·(P(z/T) − y) increases: bisection finds its zero to the last bit.
    """
    z, y = _check_values(logits, labels)
    order = np.lexsort((y, z))  # rounding of sums must not depend on the order of the examples
    z, y = z[order], y[order]
    low, high = 1 / LARGEST, LARGEST  # of 1/T
    while low < (middle := float(np.sqrt(low * high))) < high:
        if np.sum(z * (probabilities(z * middle) - y)) < 0:
            low = middle
        else:
            high = middle
    temperature = 1 / low
    before, after = negative_log_likelihood(z, y), negative_log_likelihood(z / temperature, y)
    if after < before * (1 - ROUNDING):
        return temperature
    return 1.0


def calibration(logits: ArrayLike, labels: ArrayLike, *, bins: int = 10) -> dict[str, Any]:
    """Return all of these values before and after scaling: the content of `calibration.json`."""
    temperature = fit_temperature(logits, labels)
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    return {**_facts(logits, labels, bins), "temperature": temperature, "scaled": _facts(scaled, labels, bins)}


def _facts(logits: ArrayLike, labels: ArrayLike, bins: int) -> dict[str, Any]:
    p = probabilities(logits)
    table = reliability(p, labels, bins=bins)
    return {
        "bins": [asdict(row) for row in table],
        "ece": calibration_error(table),
        "brier": brier_score(p, labels),
        "nll": negative_log_likelihood(logits, labels),
    }


def _check_values(values: ArrayLike, labels: ArrayLike, *, probabilities: bool = False) -> tuple[Array, Array]:
    x, y = np.asarray(values, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or not len(x):
        raise InputError(f"expected one value and one label per example, got shapes {x.shape} and {y.shape}")
    if not np.isin(y, (0, 1)).all():
        raise InputError(f"labels must be 0 or 1, got {y[~np.isin(y, (0, 1))][0]:g}")
    if not np.isfinite(x).all() or (probabilities and ((x < 0) | (x > 1)).any()):
        raise InputError("probabilities must be from 0 to 1" if probabilities else "logits must be finite")
    return x, y

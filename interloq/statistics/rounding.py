# SPDX-License-Identifier: Apache-2.0
"""Tell differences from rounding errors of sums, which are tiny beside the numbers that were added.

No threshold here is absolute, so scores in other units give the same ties, ranks and p-values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

RELATIVE = 1e-12  # errors of sums are below this share of the numbers that were added
DIGITS = 12  # significant digits of means, so that equal means tie in any order of summation


def round_mean(values: ArrayLike, size: ArrayLike) -> NDArray[np.float64]:
    """Round means to 12 significant digits; means that vanish beside `size`, the mean absolute value, become 0."""
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        vanishing = np.abs(values) <= RELATIVE * np.asarray(size)
        exponent = np.floor(np.log10(np.abs(np.where(vanishing, 1.0, values))))
        unit = 10.0 ** np.abs(DIGITS - 1 - exponent)
        large = exponent >= DIGITS
        rounded = np.where(large, np.round(values / unit) * unit, np.round(values * unit) / unit)
    rounded = np.where(np.isfinite(unit), rounded, values)
    return np.asarray(np.where(vanishing, 0.0, rounded))


def mean_of(values: Sequence[float]) -> float:
    """Return the mean of at least one number; it is the same for any order of the numbers."""
    mean = math.fsum(values) / len(values)
    if abs(mean) <= RELATIVE * math.fsum(map(abs, values)) / len(values):
        return 0.0
    return float(f"{mean:.{DIGITS}g}")


def typical_size(*columns: NDArray[Any]) -> float:
    """Return the mean absolute value of all finite numbers in these columns; 0 if there are none."""
    numbers = np.abs(np.concatenate([np.zeros(0), *map(np.ravel, columns)]))
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return 0.0
    return float(numbers.mean())

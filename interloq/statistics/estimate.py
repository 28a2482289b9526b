# SPDX-License-Identifier: Apache-2.0
"""Numbers with their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
COEFFICIENTS = ("pearson", "spearman", "kendall")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its uncertainty; NaN if it is undefined, with the reason in `note`."""

    value: float
    n: int  # points it was computed from: samples, systems, or contexts averaged over
    ci: tuple[float, float] | None = None
    p: float | None = None
    p_adjusted: float | None = None
    note: str = ""

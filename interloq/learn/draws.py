# SPDX-License-Identifier: Apache-2.0
"""Random draws that depend only on a seed and an example's number: the same in any batch, order or process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.integer]


def mixed(numbers: Numbers, seed: int, draw: int) -> NDArray[np.uint64]:
    """64 random bits per number: a counter, scrambled as in SplitMix64 (Steele et al., 2014)."""
    start = np.random.SeedSequence([seed, draw]).generate_state(1, np.uint64)
    bits = start + numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))

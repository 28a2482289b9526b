# SPDX-License-Identifier: Apache-2.0
"""Vector Extrema (Forgues et al., 2014; Liu et al., 2016): the cosine of the most extreme values of each dimension.

A text's value in a dimension is the smallest among its words if its magnitude exceeds the largest (|min| > max), else
the largest. Of several references the nearest is used. A set's score is the mean over samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from interloq.metrics.word_vectors.bags_of_vectors import Bags, Floats, PooledMetric, extremes


@dataclass(frozen=True)
class VectorExtrema(PooledMetric, name="vector_extrema"):
    """Cosine of the most extreme values of word vectors."""

    papers = ("forgues-etal-2014-bootstrapping", "liu-etal-2016-evaluate")

    def pooled(self, bags: Bags) -> Floats:
        high, low = extremes(bags)
        return np.where(np.abs(low) > high, low, high)

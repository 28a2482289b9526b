# SPDX-License-Identifier: Apache-2.0
"""RUBER's referenced half (Tao et al., 2018): the cosine of [max; min] pooled word vectors.

A text's vector has the largest value of each dimension among its words, followed by the smallest. Of several references
the nearest is used. A set's score is the mean over samples; scores are not normalised here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from interloq.metrics.word_vectors.bags_of_vectors import Bags, Floats, PooledMetric, extremes


@dataclass(frozen=True)
class RuberReferenced(PooledMetric, name="ruber_referenced"):
    """Cosine of max- and min-pooled word vectors."""

    papers = ("tao-etal-2018-ruber",)

    def pooled(self, bags: Bags) -> Floats:
        return np.concatenate(extremes(bags), axis=1)

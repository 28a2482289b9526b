# SPDX-License-Identifier: Apache-2.0
"""Embedding Average: the cosine of the mean word vectors of reply and reference (Liu et al., 2016).

Word vectors are not normalised, so long ones weigh more. Of several references the nearest is used. A set's score is
the mean over samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from interloq.metrics.word_vectors.bags_of_vectors import Bags, Floats, PooledMetric


@dataclass(frozen=True)
class EmbeddingAverage(PooledMetric, name="embedding_average"):
    """Cosine of mean word vectors."""

    papers = ("liu-etal-2016-evaluate",)

    def pooled(self, bags: Bags) -> Floats:
        """Sums of word vectors; their cosine equals that of the means."""
        from scipy.sparse import csr_array

        shape = (len(bags.ends) - 1, len(bags.table))
        counts = csr_array((bags.counts.astype(np.float64), bags.words, bags.ends), shape=shape)
        return np.asarray(counts @ bags.table.astype(np.float64))

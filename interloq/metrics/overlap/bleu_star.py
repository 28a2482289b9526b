# SPDX-License-Identifier: Apache-2.0
"""BLEU* (maximum single-reference BLEU; Gupta et al., 2019).

BLEU*(h, R) = max_{r ∈ R} BLEU(h, {r}), averaged over samples.
Published multi-reference work smooths with NLTK's `method1`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from interloq.data.text.tokenize import TokenizerChoice
from interloq.metrics.metric import Array, Metric, best_reference, score_rows
from interloq.metrics.overlap import ngrams
from interloq.metrics.overlap.bleu import DEFAULT_K, Smoothing, bleu_value, check_order, tokens_needed
from interloq.needs import Needs
from interloq.records import Sample
from interloq.registry import component


@dataclass(frozen=True)
class BleuStar(Metric, name="bleu_star"):
    """BLEU with the single reference that fits best."""

    papers = ("papineni-etal-2002-bleu", "gupta-etal-2019-investigating")
    needs = Needs(references=True)
    over_references = "max"
    order: Annotated[int, "longest n-gram, 1 to 9"] = 4
    smoothing: Annotated[Smoothing, "smoothing for orders without a match, as in `bleu`"] = "method1"
    tokenizer: TokenizerChoice = component("tokenizer", "13a")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_order(self.order)

    def tokens_needed(self) -> int:
        """Fewest tokens of a reply for a score above 0."""
        return tokens_needed(self.order, self.smoothing)

    def stats(self, samples: Sequence[Sample]) -> Array:
        return score_rows(best_reference(self.by_reference(samples), samples))

    def by_reference(self, samples: Sequence[Sample]) -> Array:
        """BLEU of each reply against each of its references."""
        numbered = ngrams.number(samples, self.tokenizer)
        rows = np.zeros((len(numbered.references.lengths), 2 * self.order + 2))
        owner = np.repeat(np.arange(len(samples)), numbered.n_references)
        for block in ngrams.count(numbered, self.order):
            present = ~np.isnan(block.weights)  # [j, b]
            which = (numbered.first_reference[block.samples] + np.arange(len(present))[:, None])[present]
            for n, (own, other) in enumerate(zip(block.response, block.references, strict=True)):
                rows[which, n] = np.minimum(own[:, None], other).sum(axis=0, dtype=np.int64)[present]
        lengths = numbered.responses.lengths[owner]
        rows[:, self.order : 2 * self.order] = np.maximum(lengths[:, None] - np.arange(self.order), 0)
        rows[:, -2], rows[:, -1] = lengths, numbered.references.lengths
        return bleu_value(rows, self.order, self.smoothing, DEFAULT_K.get(self.smoothing, 0.0))

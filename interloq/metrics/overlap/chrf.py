# SPDX-License-Identifier: Apache-2.0
"""chrF (Popović, 2015) and, with `word_order=2`, chrF++ (Popović, 2017).

chrF_β = (1 + β²) · P · R / (β² · P + R); P and R are the means over orders of n-gram precision and recall, over
characters and, for chrF++, words. With several references, the one with the best score is used.

The counts are sacrebleu's, so values equal its `corpus_score` and `sentence_score` divided by 100. Like sacrebleu, we
average only over orders that occur in both texts; the author's script instead gives the others a tiny value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from interloq.errors import SpecError
from interloq.metrics.metric import Array, Metric
from interloq.needs import Needs
from interloq.records import Sample


@dataclass(frozen=True)
class Chrf(Metric, name="chrf"):
    """chrF, or chrF++ with `word_order=2`."""

    papers = ("popovic-2015-chrf",)
    variant_papers: ClassVar[Mapping[str, str]] = {"word_order": "popovic-2017-chrf"}
    needs = Needs(references=True)
    is_mean = False
    char_order: Annotated[int, "longest character n-gram, 1 to 20"] = 6
    word_order: Annotated[int, "longest word n-gram, 0 to 9; 2 is chrF++"] = 0
    beta: Annotated[int, "recall counts this many times as much as precision; a whole number from 1"] = 2
    lowercase: Annotated[bool, "lower-case both texts first"] = False
    whitespace: Annotated[bool, "count white space as characters"] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.char_order <= 20 or not 0 <= self.word_order <= 9:
            raise SpecError(
                "chrf: char_order must be from 1 to 20 and word_order from 0 to 9, "
                f"got {self.char_order} and {self.word_order}"
            )
        if self.beta < 1:
            raise SpecError(f"chrf: beta must be 1 or more, got {self.beta}")

    def built_with(self) -> str:
        import sacrebleu

        return f"sacrebleu-{sacrebleu.__version__}"

    def stats(self, samples: Sequence[Sample]) -> Array:
        """Return [n-grams of the reply, n-grams of the reference, matches] of each order."""
        rows = [self._counts(sample) for sample in samples]
        return np.array(rows, dtype=np.float64).reshape(len(samples), 3 * (self.char_order + self.word_order))

    def value(self, total: Array) -> Array:
        precision, recall = self._precision_and_recall(total)
        weight = self.beta**2
        below = weight * precision + recall
        return np.asarray((1 + weight) * precision * recall / np.where(below > 0, below, 1))

    def details(self, total: Array) -> dict[str, float]:
        """Return the mean precision and recall over the orders that both texts have."""
        precision, recall = self._precision_and_recall(total)
        return {"precision": float(precision), "recall": float(recall)}

    def _precision_and_recall(self, total: Array) -> tuple[Array, Array]:
        response, reference, matches = total[..., 0::3], total[..., 1::3], total[..., 2::3]
        used = (response > 0) & (reference > 0)
        n = np.maximum(used.sum(axis=-1), 1)
        precision = np.where(used, matches / np.maximum(response, 1), 0).sum(axis=-1) / n
        recall = np.where(used, matches / np.maximum(reference, 1), 0).sum(axis=-1) / n
        return precision, recall

    def _counts(self, sample: Sample) -> list[int]:
        # sacrebleu's public methods return only scores, which cannot be summed: we depend on these three private names
        chrf = self._sacrebleu
        references = [chrf._preprocess_segment(reference.text) for reference in sample.references]
        known = chrf._extract_reference_info(references)
        counts: list[int] = chrf._compute_segment_statistics(chrf._preprocess_segment(sample.response), known)
        return counts

    @cached_property
    def _sacrebleu(self) -> Any:
        from sacrebleu.metrics.chrf import CHRF

        return CHRF(self.char_order, self.word_order, self.beta, self.lowercase, self.whitespace)

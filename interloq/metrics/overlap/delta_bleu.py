# SPDX-License-Identifier: Apache-2.0
"""ΔBLEU, discriminative BLEU (Galley et al., 2015), as υBLEU uses it (Tsuta et al., 2020 and 2023).

p_n = Σ_i Σ_g max_{j: g ∈ r_ij} w_ij · min(#_g(h_i), #_g(r_ij)) / Σ_i Σ_g max_j w_ij · #_g(h_i)

The papers and their code differ, so there are three modes:

- `sentence` (default, the υBLEU code): one score per reply, averaged over replies. The maximum in the numerator starts
  at 0, so a reference with a negative weight never subtracts. Closest reference length, no smoothing: any p_n = 0 gives
  0.
- `corpus` (the ΔBLEU code, a sacrebleu fork): sums over all replies. The weight is the largest among references that
  contain g, the count the largest among all of them; each order's sum is floored at 0, then smoothed as by sacrebleu's
  `exp`.
- `paper` (the formula above): sums over all replies, average lengths. Any p_n ≤ 0 gives 0, as it has no logarithm.

With all weights 1, each mode equals BLEU of the same order, smoothing and length rule. A sample whose largest weight
is 0 or less is unscored: its denominator is not positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from interloq.data.text.tokenize import TokenizerChoice
from interloq.metrics.metric import Array, needs_references
from interloq.metrics.overlap import ngrams
from interloq.metrics.overlap.bleu import BleuMetric, Formula, Smoothing, check_order
from interloq.metrics.overlap.ngrams import Matches
from interloq.records import Sample
from interloq.registry import component

Mode = Literal["sentence", "corpus", "paper"]
NO_POSITIVE_WEIGHT = "no positive weight"
SMOOTHING: dict[Mode, Smoothing] = {"sentence": "none", "corpus": "exp", "paper": "none"}


@dataclass(frozen=True)
class DeltaBleu(BleuMetric, name="delta_bleu"):
    """BLEU with weighted references."""

    papers = ("galley-etal-2015-deltableu", "tsuta-etal-2020-ubleu")
    reads_weights = True
    order: Annotated[int, "longest n-gram, 1 to 9"] = 2
    mode: Annotated[Mode, "the υBLEU code, the ΔBLEU code, or the paper's formula"] = "sentence"
    tokenizer: TokenizerChoice = component("tokenizer", "13a")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_order(self.order)

    def unscorable(self, sample: Sample) -> str | None:
        if reason := needs_references(sample):
            return reason
        return None if max(r.weight for r in sample.references) > 0 else NO_POSITIVE_WEIGHT

    @property
    def is_mean(self) -> bool:
        """Whether the set's score is the mean of sample scores."""
        return self.mode == "sentence"

    def formula(self) -> Formula:
        return Formula(self.order, SMOOTHING[self.mode])

    def counts(self, samples: Sequence[Sample]) -> Array:
        """Return weighted matches, weighted n-grams and lengths of each sample."""
        return delta_bleu_rows(ngrams.number(samples, self.tokenizer), self.order, self.mode)


def delta_bleu_rows(numbered: ngrams.Numbered, order: int, mode: Mode) -> Array:
    """Return weighted matches, weighted n-gram totals and lengths for each sample."""
    lengths = numbered.responses.lengths
    rows = np.zeros((len(lengths), 2 * order + 2))
    weights = np.nan_to_num(numbered.weights)
    for matches in ngrams.count(numbered, order):
        gains = _NUMERATORS[mode](matches, weights[matches.reference])
        ngrams.add_to(rows[:, matches.order - 1], matches.sample, gains)
    grams = np.maximum(lengths[:, None] - np.arange(order), 0)
    rows[:, order : 2 * order] = grams * ngrams.largest_weights(numbered)[:, None]
    rows[:, -2] = lengths
    if mode == "paper":
        rows[:, -1] = ngrams.average_lengths(numbered)
    else:
        rows[:, -1] = ngrams.closest_lengths(numbered)
    return rows


def _sentence(matches: Matches, weights: Array) -> Array:
    """Return max(0, max_j w_j · min(c_h, c_rj)): only references with weight above 0 matter."""
    return matches.largest(np.maximum(weights, 0) * matches.shared())


def _corpus(matches: Matches, weights: Array) -> Array:
    """Return (largest weight among references with g) · min(c_h, largest count): these may be different references."""
    return np.asarray(matches.largest(weights) * np.minimum(matches.own, matches.largest(matches.count)))


def _paper(matches: Matches, weights: Array) -> Array:
    """Return the maximum over references with g of w_j · min(c_h, c_rj); negative if only bad references contain g."""
    return matches.largest(weights * matches.shared())


_NUMERATORS = {"sentence": _sentence, "corpus": _corpus, "paper": _paper}

# SPDX-License-Identifier: Apache-2.0
"""BLEU, and BLEU*, the best BLEU against any single reference."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from interloq.data.text.tokenize import TokenizerChoice
from interloq.errors import SpecError
from interloq.metrics.metric import Array, CountMetric, Metric, best_reference, score_rows
from interloq.metrics.overlap import ngrams
from interloq.needs import Needs
from interloq.records import Sample
from interloq.registry import component

Smoothing = Literal["none", "floor", "add-k", "exp", "method0", "method1", "tiny"]
Brevity = Literal["closest", "average"]
DEFAULT_K = {"floor": 0.1, "add-k": 1.0, "method1": 0.1}


@dataclass(frozen=True, slots=True)
class Formula:
    """How BLEU is computed from rows [matches of order 1…N, n-grams of order 1…N, reply length, reference length]."""

    order: int
    smoothing: Smoothing
    k: float = 0.0
    effective_order: bool = False

    def score(self, rows: Array) -> Array:
        """Return BLEU of rows or sums of rows, along the last axis."""
        matches, totals = self._counts(rows)
        length, reference = rows[..., -2], rows[..., -1]
        if self.smoothing == "tiny":
            logs = np.log((matches + 1e-15) / (totals + 1e-9))
            ratio = (length + 1e-15) / (reference + 1e-9)
            return np.asarray(np.exp(logs.mean(axis=-1) + np.where(ratio < 1, 1 - 1 / ratio, 0.0)))
        precisions = smooth_precisions(matches, totals, self.smoothing, self.k)
        # add-k adds n-grams to every order, so no order counts as longer than the reply, as in sacrebleu
        every = not self.effective_order or self.smoothing == "add-k"
        used = np.ones_like(totals, dtype=bool) if every else totals > 0
        with np.errstate(divide="ignore"):
            logs = np.where(used, np.log(precisions), 0.0).sum(axis=-1) / np.maximum(used.sum(axis=-1), 1)
        # without any match there is nothing to smooth: 0, as in sacrebleu and NLTK
        score = np.where((matches > 0).any(axis=-1) & (length > 0), np.exp(logs), 0.0)
        return np.asarray(score * brevity_penalty(length, reference))

    def parts(self, rows: Array) -> Array:
        """Return [precision of order 1…N, brevity penalty, reply length, reference length]."""
        matches, totals = self._counts(rows)
        length, reference = rows[..., -2:-1], rows[..., -1:]
        if self.smoothing == "tiny":
            precisions = (matches + 1e-15) / (totals + 1e-9)
            penalty = np.exp(np.minimum(1 - (reference + 1e-9) / (length + 1e-15), 0.0))
        else:
            some = (matches > 0).any(axis=-1, keepdims=True)  # without any match nothing is smoothed, as in `score`
            precisions = np.where(some, smooth_precisions(matches, totals, self.smoothing, self.k), 0.0)
            penalty = brevity_penalty(length, reference)
        return np.concatenate([precisions, penalty, length, reference], axis=-1)

    def part_names(self) -> list[str]:
        """Return the names of the columns of `parts`."""
        precisions = [f"precision_{n}" for n in range(1, self.order + 1)]
        return [*precisions, "brevity_penalty", "reply_length", "reference_length"]

    def tokens_needed(self) -> int:
        """Return the fewest tokens of a reply for a score above 0: with fewer, an order has no n-grams."""
        if self.effective_order or self.smoothing not in ("none", "floor", "exp"):
            return 0
        return self.order

    def _counts(self, rows: Array) -> tuple[Array, Array]:
        """Return matches and n-grams; matches with negative weights, as ΔBLEU may have, are floored at 0."""
        return np.maximum(rows[..., : self.order], 0), rows[..., self.order : 2 * self.order]


class BleuMetric(CountMetric):
    """Base of BLEU and ΔBLEU, which share a formula but have different counts."""

    needs = Needs(references=True)

    def formula(self) -> Formula:
        """Return how scores are computed from counts."""
        raise NotImplementedError

    def tokens_needed(self) -> int:
        """Return the fewest tokens of a reply for a score above 0."""
        return self.formula().tokens_needed()

    def score(self, counts: Array) -> Array:
        return self.formula().score(counts)

    def parts(self, counts: Array) -> Array:
        return self.formula().parts(counts)

    def part_names(self) -> list[str]:
        return self.formula().part_names()


@dataclass(frozen=True)
class Bleu(BleuMetric, name="bleu"):
    """BLEU (Papineni, Roukos, Ward and Zhu, 2002).

    BLEU = BP · exp(1/N Σ_n log p_n),  p_n = Σ_i Σ_g min(#_g(h_i), max_j #_g(r_ij)) / Σ_i Σ_g #_g(h_i)
    BP = 1 if η > ρ, else exp(1 − ρ/η); η is the length of the replies, ρ the length of the references.

    A sample's score is sentence BLEU. The set's score is corpus BLEU (sums first, then the formula), or with
    `level='sentence'` the mean of sentence scores. Scores are from 0 to 1.

    Smoothing methods are named after the code they match: `none`, `floor`, `add-k` and `exp` are sacrebleu's, `method0`
    and `method1` are NLTK's (`method0` is its default, and called "no smoothing"), and `tiny` is the 1e-15/1e-9 of the
    COCO caption code, common in dialogue work.
    """

    papers = ("papineni-etal-2002-bleu",)
    order: Annotated[int, "longest n-gram, 1 to 9"] = 4
    smoothing: Annotated[Smoothing, "smoothing for orders without a match"] = "exp"
    k: Annotated[float | None, "value for `floor` (0.1), `add-k` (1) and `method1` (0.1); `None`: these"] = None
    brevity: Annotated[Brevity, "reference length: closest to the reply's, or the average"] = "closest"
    level: Annotated[Literal["corpus", "sentence"], "the set's score: from summed counts, or the mean of scores"] = (
        "corpus"
    )
    effective_order: Annotated[bool, "ignore orders longer than the reply (never with `add-k`)"] = False
    tokenizer: TokenizerChoice = component("tokenizer", "13a")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_order(self.order)
        if self.k is not None and (self.smoothing not in DEFAULT_K or self.k <= 0):
            raise SpecError(f"bleu: k must be positive and is only for {', '.join(DEFAULT_K)}, got {self.k}")

    @property
    def is_mean(self) -> bool:
        """Whether the set's score is the mean of sample scores."""
        return self.level == "sentence"

    def formula(self) -> Formula:
        k = DEFAULT_K.get(self.smoothing, 0.0) if self.k is None else self.k
        return Formula(self.order, self.smoothing, k, self.effective_order)

    def counts(self, samples: Sequence[Sample]) -> Array:
        return bleu_rows(ngrams.number(samples, self.tokenizer), self.order, self.brevity)


def check_order(order: int) -> None:
    """Refuse an order that is not from 1 to 9."""
    if not 1 <= order <= 9:
        raise SpecError(f"order must be from 1 to 9, got {order}")


def bleu_rows(numbered: ngrams.Numbered, order: int, brevity: Brevity) -> Array:
    """Return clipped matches, n-gram totals and lengths of each sample."""
    lengths = numbered.responses.lengths
    rows = np.zeros((len(lengths), 2 * order + 2))
    for matches in ngrams.count(numbered, order):
        gains = np.minimum(matches.own, matches.largest(matches.count))
        ngrams.add_to(rows[:, matches.order - 1], matches.sample, gains)
    rows[:, order : 2 * order] = np.maximum(lengths[:, None] - np.arange(order), 0)
    rows[:, -2] = lengths
    if brevity == "closest":
        rows[:, -1] = ngrams.closest_lengths(numbered)
    else:
        rows[:, -1] = ngrams.average_lengths(numbered)
    return rows


def smooth_precisions(matches: Array, totals: Array, smoothing: Smoothing, k: float) -> Array:
    """Return the smoothed precision of each order; 0 if there is nothing to smooth."""
    if smoothing == "method1":
        return np.where(matches > 0, matches, k) / np.maximum(totals, 1)
    if smoothing == "method0":
        return np.where(matches > 0, matches / np.maximum(totals, 1), sys.float_info.min)
    if smoothing == "add-k":
        later = np.arange(matches.shape[-1]) > 0
        matches, totals = np.where(later, matches + k, matches), np.where(later, totals + k, totals)
    safe = np.where(totals > 0, totals, 1.0)
    precisions = np.where(totals > 0, matches / safe, 0.0)
    zero = (matches == 0) & (totals > 0)
    if smoothing == "floor":
        precisions = np.where(zero, k / safe, precisions)
    elif smoothing == "exp":  # 1/2, 1/4, … of a match for the first, second, … order without one
        precisions = np.where(zero, 0.5 ** np.cumsum(zero, axis=-1) / safe, precisions)
    return np.asarray(precisions)


def brevity_penalty(length: NDArray[np.float64], reference: NDArray[np.float64]) -> Array:
    """Return 1 for replies as long as the references, less for shorter ones."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(length < reference, np.exp(1 - reference / length), 1.0)


@dataclass(frozen=True)
class BleuStar(Metric, name="bleu_star"):
    """BLEU* (maximum single-reference BLEU; Gupta et al., 2019).

    BLEU*(h, R) = max_{r ∈ R} BLEU(h, {r}), averaged over samples.
    Published multi-reference work smooths with NLTK's `method1`.
    """

    papers = ("papineni-etal-2002-bleu", "gupta-etal-2019-investigating")
    needs = Needs(references=True)
    over_references = "max"
    order: Annotated[int, "longest n-gram, 1 to 9"] = 4
    smoothing: Annotated[Smoothing, "smoothing for orders without a match, as in `bleu`"] = "method1"
    tokenizer: TokenizerChoice = component("tokenizer", "13a")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_order(self.order)

    def formula(self) -> Formula:
        """Return how scores are computed from rows."""
        return Formula(self.order, self.smoothing, DEFAULT_K.get(self.smoothing, 0.0))

    def tokens_needed(self) -> int:
        """Return the fewest tokens of a reply for a score above 0."""
        return self.formula().tokens_needed()

    def stats(self, samples: Sequence[Sample]) -> Array:
        return score_rows(best_reference(self.by_reference(samples), samples))

    def by_reference(self, samples: Sequence[Sample]) -> Array:
        """Return the BLEU of each reply against each of its references."""
        numbered = ngrams.number(samples, self.tokenizer)
        rows = np.zeros((len(numbered.references.lengths), 2 * self.order + 2))
        owner = np.repeat(np.arange(len(samples)), numbered.n_references)
        for matches in ngrams.count(numbered, self.order):
            ngrams.add_to(rows[:, matches.order - 1], matches.reference, matches.shared())
        lengths = numbered.responses.lengths[owner]
        rows[:, self.order : 2 * self.order] = np.maximum(lengths[:, None] - np.arange(self.order), 0)
        rows[:, -2], rows[:, -1] = lengths, numbered.references.lengths
        return self.formula().score(rows)

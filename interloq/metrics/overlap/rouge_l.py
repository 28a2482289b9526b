# SPDX-License-Identifier: Apache-2.0
"""ROUGE-L (Lin, 2004): the longest common subsequence of reply and reference.

P_j = LCS(h, r_j) / |h|,  R_j = LCS(h, r_j) / |r_j|,  F = (1 + β²) P R / (R + β² P)

`multiple='separate'` uses the largest P and the largest R over references, possibly different ones, and then F: the
rule of the COCO caption code and of nlg-eval, the source of β = 1.2 in dialogue work. `'best'` uses the largest F. The
set's score is the mean. Lin treats the sentences of a summary separately; here a reply is one sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from interloq.data.text.tokenize import TokenizerChoice
from interloq.errors import SpecError
from interloq.metrics.metric import Array, Metric, Reduction, mean_parts, score_rows
from interloq.metrics.overlap import ngrams
from interloq.needs import Needs
from interloq.records import Sample
from interloq.registry import component


@dataclass(frozen=True)
class RougeL(Metric, name="rouge_l"):
    """Longest common subsequence of reply and reference."""

    papers = ("lin-2004-rouge",)
    needs = Needs(references=True)
    beta: Annotated[float, "weight of recall relative to precision: 1 gives F1, 0 gives precision"] = 1.2
    multiple: Annotated[Literal["separate", "best"], "largest P and largest R, or the largest F"] = "separate"
    tokenizer: TokenizerChoice = component("tokenizer", "13a")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.beta < math.inf:
            raise SpecError(f"rouge_l: beta must be 0 or a finite positive number, got {self.beta}")

    @property
    def over_references(self) -> Reduction | None:
        """ "max" if precision and recall come from the same reference."""
        return "max" if self.multiple == "best" else None

    def by_reference(self, samples: Sequence[Sample]) -> Array:
        """Return F of each reply with each of its references."""
        return self._f(*_precisions_and_recalls(ngrams.number(samples, self.tokenizer)))

    def stats(self, samples: Sequence[Sample]) -> Array:
        numbered = ngrams.number(samples, self.tokenizer)
        precisions, recalls = _precisions_and_recalls(numbered)
        if len(samples) and self.multiple == "separate":
            precisions = np.maximum.reduceat(precisions, numbered.first_reference)
            recalls = np.maximum.reduceat(recalls, numbered.first_reference)
        scores = self._f(precisions, recalls)
        if len(samples) and self.multiple == "best":
            owner = np.repeat(np.arange(len(samples)), numbered.n_references)
            order = np.lexsort((precisions, scores, owner))  # of equal scores, the one with the higher precision
            best = order[np.cumsum(numbered.n_references) - 1]
            scores, precisions, recalls = scores[best], precisions[best], recalls[best]
        return score_rows(scores, precisions, recalls)

    def details(self, total: Array) -> dict[str, float]:
        """Return precision and recall of the references used, as means over samples."""
        return mean_parts(total, "precision", "recall")

    def _f(self, precision: Array, recall: Array) -> Array:
        weight = self.beta**2
        common = (precision > 0) & (recall > 0)
        below = np.where(common, recall + weight * precision, 1.0)
        return np.where(common, (1 + weight) * precision * recall / below, 0.0)


def _precisions_and_recalls(numbered: ngrams.Numbered) -> tuple[Array, Array]:
    """Return the LCS divided by reply length and by reference length, one value per reference; 0 if a text is empty."""
    owner = np.repeat(np.arange(len(numbered.n_references)), numbered.n_references)
    common = np.fromiter(_common(numbered), dtype=np.float64, count=len(owner))
    precisions = common / np.maximum(numbered.responses.lengths[owner], 1)
    return precisions, common / np.maximum(numbered.references.lengths, 1)


def _common(numbered: ngrams.Numbered) -> Iterator[int]:
    """Yield the LCS of every reference with its reply."""
    responses, references = numbered.responses.tokens.tolist(), numbered.references.tokens.tolist()
    response_ends, reference_ends = numbered.responses.ends.tolist(), numbered.references.ends.tolist()
    owned = zip(numbered.first_reference.tolist(), numbered.n_references.tolist(), strict=True)
    for i, (first, n_references) in enumerate(owned):
        response = responses[response_ends[i] : response_ends[i + 1]]
        places: dict[int, int] = {}  # token → an integer with bit i set if the reply has the token at i
        for bit, token in enumerate(response):
            places[token] = places.get(token, 0) | 1 << bit
        for j in range(first, first + n_references):
            yield _lcs_length(places, len(response), references[reference_ends[j] : reference_ends[j + 1]])


def _lcs_length(places: dict[int, int], length: int, other: Sequence[int]) -> int:
    """Compute the LCS bit-parallel (Hyyrö, 2004): one addition computes a whole row of the table of prefixes.

    A zero bit of `row` is where the LCS of the text's prefixes with the processed part of `other` grows by one.
    """
    everywhere = (1 << length) - 1
    row = everywhere
    for token in other:
        if token in places:
            matched = row & places[token]
            row = (row + matched) | (row - matched)
    return length - (row & everywhere).bit_count()

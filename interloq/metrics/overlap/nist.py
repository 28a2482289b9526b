# SPDX-License-Identifier: Apache-2.0
"""NIST (Doddington, 2002).

NIST = Σ_{n=1…N} [ Σ_g info(g) · min(#_g(h), max_j #_g(r_j)) / Σ_g #_g(h) ] · penalty
info(w_1…w_n) = log2( #(w_1…w_{n-1}) / #(w_1…w_n) ), counted over all references of the set; for n = 1, the numerator
is the number of all their tokens
penalty = exp( log 0.5 · (log min(1, η/ρ) / log 1.5)² ): 1 for replies as long as the references, 0.5 at two thirds

With several references this matches NIST's own mteval-v13a: counts are clipped at the largest count in any reference
and ρ is the mean reference length. NLTK instead uses, for each order, the one reference with the best score; with a
single reference both give the same number. mteval lower-cases, as `tokenizer='13a(lowercase=True)'` does. If the
references contain only one distinct word, no n-gram has information, and nothing is scored.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray

from interloq.data.text.token_texts import Texts, TokenNumbering
from interloq.data.text.tokenize import Tokenizer, TokenizerChoice
from interloq.errors import InputError
from interloq.metrics.metric import Array, Metric, needs_references, reference_texts
from interloq.metrics.overlap import ngrams
from interloq.metrics.overlap.bleu import check_order
from interloq.needs import Needs
from interloq.records import Sample
from interloq.registry import component
from interloq.signature import fingerprint

NO_INFORMATION = "no n-gram of the references has information: they contain at most one distinct word"


@dataclass(frozen=True)
class Nist(Metric, name="nist"):
    """Shared n-grams, weighted by their information."""

    papers = ("doddington-2002-automatic",)
    needs = Needs(references=True)
    is_mean = False
    order: Annotated[int, "longest n-gram, 1 to 9"] = 5
    tokenizer: TokenizerChoice = component("tokenizer", "13a")
    _information: Information | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_order(self.order)

    def fit(self, samples: Sequence[Sample]) -> Self:
        """Return a copy with the information weights of these samples' references."""
        fitted = dataclasses.replace(self)
        object.__setattr__(fitted, "_information", Information.of(samples, self.tokenizer, self.order))
        return fitted

    def fitted(self) -> str:
        return self._information.source if self._information else ""

    def unscorable(self, sample: Sample) -> str | None:
        reason = needs_references(sample)
        if reason is None and self._information is not None and self._information.is_empty:
            reason = NO_INFORMATION
        return reason

    def stats(self, samples: Sequence[Sample]) -> Array:
        """Return [information of matches of order 1…N, n-grams of order 1…N, reply length, mean reference length]."""
        if self._information is None:
            raise InputError(
                "nist is not fitted: it has no information weights", hint="call fit(samples) first, or use evaluate"
            )
        numbering = TokenNumbering(self.tokenizer)
        numbered = ngrams.number_with(numbering, samples)
        lengths = numbered.responses.lengths
        rows = np.zeros((len(samples), 2 * self.order + 2))
        information = self._information.of_ngrams(numbered.responses, numbering.vocabulary())
        for matches in ngrams.count(numbered, self.order):
            shared = np.minimum(matches.own, matches.largest(matches.count))
            gains = shared * information[matches.order - 1][matches.place]
            ngrams.add_to(rows[:, matches.order - 1], matches.sample, gains)
        rows[:, self.order : -2] = np.maximum(lengths[:, None] - np.arange(self.order), 0)
        rows[:, -2] = lengths
        rows[:, -1] = ngrams.average_lengths(numbered)
        return rows

    def value(self, total: Array) -> Array:
        information, grams = total[..., : self.order], total[..., self.order : -2]
        return np.asarray((information / np.maximum(grams, 1)).sum(axis=-1) * penalty(total[..., -2], total[..., -1]))

    def details(self, total: Array) -> dict[str, float]:
        """Return the length penalty, and the summed lengths."""
        length, reference = float(total[-2]), float(total[-1])
        factor = float(penalty(total[-2], total[-1]))
        return {"length_penalty": factor, "reply_length": length, "reference_length": reference}


def penalty(length: Array, reference: Array) -> Array:
    """Return NIST's length penalty: 1 for long enough replies, 0.5 at two thirds of the length, 0 without text."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(reference > 0, length / reference, 1.0)
        factor = np.exp(np.log(0.5) * (np.log(np.minimum(ratio, 1)) / np.log(1.5)) ** 2)
    return np.asarray(np.where(length > 0, factor, 0.0))


@dataclass(frozen=True, eq=False)
class Information:
    """Information weights of the n-grams of references.

    Tokens are numbered in alphabetical order and n-grams by the index of their key in `keys[n-1]`. What follows an
    n-gram that occurs once has no information, so longer n-grams that begin with it are left out.
    """

    source: str
    numbers: dict[str, int]
    keys: list[NDArray[np.int64]]
    weights: list[Array]

    @cached_property
    def is_empty(self) -> bool:
        """Whether no n-gram has information, as when the references contain one distinct word."""
        return not any(weights.any() for weights in self.weights)

    @classmethod
    def of(cls, samples: Sequence[Sample], tokenizer: Tokenizer, order: int) -> Information:
        """Compute the weights of n-grams in these samples' references."""
        numbering = TokenNumbering(tokenizer)
        references = reference_texts(samples)
        texts = numbering.texts(references)
        numbers = {token: i for i, token in enumerate(sorted(numbering.vocabulary()))}
        prints = sum(int(fingerprint(text), 16) * n for text, n in Counter(references).items())
        source = f"{len(references)}-references-{prints % 2**64:016x}"  # does not depend on their order
        made = cls(source, numbers, [], [])
        texts = made._renumber(texts, numbering.vocabulary())
        grams, before = np.zeros(len(texts.tokens), dtype=np.int64), np.array([len(texts.tokens)])
        for n in range(1, order + 1):
            keys = ngrams.gram_keys(grams, texts, n, len(numbers) + 1)
            at = np.flatnonzero(keys >= 0)
            known, found, counts = np.unique(keys[at], return_inverse=True, return_counts=True)
            made.keys.append(known)
            made.weights.append(np.log2(before[known // (len(numbers) + 1)] / counts))
            grams, before = np.full(len(texts.tokens), -1), counts
            grams[at] = np.where(counts[found] > 1, found, -1)
        return made

    def of_ngrams(self, texts: Texts, vocabulary: list[str]) -> list[Array]:
        """Return for each order the information of the n-gram that begins at each token; 0 if it is unknown."""
        texts = self._renumber(texts, vocabulary)
        grams = np.zeros(len(texts.tokens), dtype=np.int64)
        information = []
        for n, (known, weights) in enumerate(zip(self.keys, self.weights, strict=True), start=1):
            keys = ngrams.gram_keys(grams, texts, n, len(self.numbers) + 1)
            places = np.searchsorted(known, keys)
            # the key -1, which stands for no n-gram, is never known
            grams = np.where(np.append(known, -2)[places] == keys, places, -1)
            information.append(np.append(weights, 0.0)[grams])
        return information

    def _renumber(self, texts: Texts, vocabulary: list[str]) -> Texts:
        table = np.array([self.numbers.get(token, -1) for token in vocabulary], dtype=np.int32)
        if not len(table):
            return texts
        return Texts(table[texts.tokens], texts.ends)

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray

from interloq.data.text.token_texts import Texts, TokenNumbering
from interloq.data.text.tokenize import Tokenizer, TokenizerChoice
from interloq.errors import InputError
from interloq.metrics.metric import Array, Metric, needs_references, reference_counts, reference_texts, replies
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
        responses = numbering.texts(replies(samples))
        references = numbering.texts(reference_texts(samples))
        owners = np.repeat(np.arange(len(samples)), reference_counts(samples))
        lengths = responses.lengths
        rows = np.zeros((len(samples), 2 * self.order + 2))
        rows[:, : self.order] = self._information.sum_matches(responses, references, owners, numbering.vocabulary())
        rows[:, self.order : -2] = np.maximum(lengths[:, None] - np.arange(self.order), 0)
        rows[:, -2] = lengths
        rows[:, -1] = _sum(owners, references.lengths, len(samples)) / np.bincount(owners, minlength=len(samples))
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

    Tokens are numbered in alphabetical order and n-grams by the index of their key in `keys[n-1]`, so sums are the same
    to the last bit whatever the order of the samples.
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
        texts = numbering.texts(reference_texts(samples))
        numbers = {token: i for i, token in enumerate(sorted(numbering.vocabulary()))}
        prints = [int(fingerprint(text), 16) for text in reference_texts(samples)]
        source = f"{len(prints)}-references-{sum(prints) % 2**64:016x}"  # does not depend on their order
        made = cls(source, numbers, [], [])
        texts = made._renumber(texts, numbering.vocabulary())
        grams, before = np.zeros(len(texts.tokens), dtype=np.int64), np.array([len(texts.tokens)])
        for n in range(1, order + 1):
            keys = ngrams.gram_keys(grams, texts, n, len(numbers) + 1)
            known, counts = np.unique(keys[keys >= 0], return_counts=True)
            made.keys.append(known)
            made.weights.append(np.log2(before[known // (len(numbers) + 1)] / counts))
            grams, before = made._number_grams(keys, n), counts
        return made

    def sum_matches(
        self, responses: Texts, references: Texts, owners: NDArray[np.int64], vocabulary: list[str]
    ) -> Array:
        """Return the information of the matches of each reply and order."""
        size = len(responses.lengths)
        of_response = self._grams(self._renumber(responses, vocabulary))
        of_reference = self._grams(self._renumber(references, vocabulary))
        columns = []
        for weights, own, other in zip(self.weights, of_response, of_reference, strict=True):
            width = max(len(weights), 1)
            pairs, counts = _count_ngrams(*own, width)
            gains = (
                np.minimum(counts, _largest(owners, *_count_ngrams(*other, width), pairs, width))
                * weights[pairs % width]
            )
            columns.append(_sum(pairs // width, gains, size))
        return np.stack(columns, axis=1)

    def _grams(self, texts: Texts) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the text index and number of every known n-gram, by order."""
        owners = np.repeat(np.arange(len(texts.lengths)), texts.lengths)
        grams = np.zeros(len(texts.tokens), dtype=np.int64)
        for n in range(1, len(self.keys) + 1):
            grams = self._number_grams(ngrams.gram_keys(grams, texts, n, len(self.numbers) + 1), n)
            yield owners[grams >= 0], grams[grams >= 0]

    def _number_grams(self, keys: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """Return the indices of keys among the known keys of this order; -1 for unknown keys."""
        known = self.keys[n - 1]
        if not len(known):
            return np.full_like(keys, -1)
        places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[places] == keys, places, -1)

    def _renumber(self, texts: Texts, vocabulary: list[str]) -> Texts:
        table = np.array([self.numbers.get(token, -1) for token in vocabulary], dtype=np.int32)
        if not len(table):
            return texts
        return Texts(table[texts.tokens], texts.ends)


def _count_ngrams(
    texts: NDArray[np.int64], grams: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return distinct pairs of a text and an n-gram, as text · size + n-gram, sorted, and how often each occurs."""
    pairs, counts = np.unique(texts * size + grams, return_counts=True)
    return pairs, counts


def _largest(
    owners: NDArray[np.int64], pairs: NDArray[np.int64], counts: NDArray[np.int64], wanted: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """Return the largest count in one of the sample's references, for each pair of a sample and an n-gram."""
    most = np.zeros(len(wanted), dtype=np.int64)
    if not len(wanted):
        return most
    in_sample = owners[pairs // size] * size + pairs % size
    places = np.minimum(np.searchsorted(wanted, in_sample), len(wanted) - 1)
    is_wanted = wanted[places] == in_sample
    np.maximum.at(most, places[is_wanted], counts[is_wanted])
    return most


def _sum(groups: NDArray[np.int64], values: NDArray[np.float64] | NDArray[np.int64], size: int) -> Array:
    return np.bincount(groups, weights=values, minlength=size).astype(np.float64)

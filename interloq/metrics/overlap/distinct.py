# SPDX-License-Identifier: Apache-2.0
"""distinct-n (Li, Galley, Brockett, Gao and Dolan, 2016).

distinct-n = |{n-grams of the replies}| / number of n-grams in the replies

The set's value counts the distinct n-grams of all replies together, so it cannot be computed from the values of single
replies, and it decreases as the set grows: compare systems on equal numbers of replies. Needs no references.

The paper divides by the number of *tokens* for every n; nearly all later code divides by the number of n-grams, which
is the default. `per='token'` is the paper's version; for n = 1 they are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from interloq.data.text.token_texts import TokenNumbering
from interloq.data.text.tokenize import Tokenizer, TokenizerChoice
from interloq.errors import SpecError
from interloq.metrics.metric import Array, Metric
from interloq.metrics.overlap.ngrams import gram_keys
from interloq.needs import Needs
from interloq.records import Sample
from interloq.registry import component


@dataclass(frozen=True)
class Distinct(Metric, name="distinct"):
    """Share of distinct n-grams among all n-grams of a set of replies."""

    papers = ("li-etal-2016-diversity",)
    needs = Needs()
    is_mean = False
    n: Annotated[int, "tokens in an n-gram, 1 to 9; papers report distinct-1 and distinct-2"] = 2
    per: Annotated[Literal["ngram", "token"], "divide by the number of n-grams or of tokens"] = "ngram"
    tokenizer: TokenizerChoice = component("tokenizer", "13a")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.n <= 9:
            raise SpecError(f"distinct: n must be from 1 to 9, got {self.n}")

    def unscorable(self, sample: Sample) -> str | None:
        least, reason = self.n, f"no {self.n}-grams"
        if self.per == "token":
            least, reason = 1, "no tokens"
        return None if _has_tokens(sample.response, least, self.tokenizer) else reason

    def stats(self, samples: Sequence[Sample]) -> Array:
        """Return [distinct n-grams, n-grams or tokens] of each reply; these rows cannot be summed."""
        grams = self._grams(samples)
        return np.column_stack([np.bincount(grams.replies, minlength=len(samples)), grams.totals]).astype(np.float64)

    def value(self, total: Array) -> Array:
        return np.asarray(total[..., 0] / total[..., 1])

    def value_of_set(self, samples: Sequence[Sample], counts: Iterable[NDArray[np.int64]]) -> Array:
        grams = self._grams(samples)
        return np.concatenate([grams.distinct(block) / (block @ grams.totals) for block in counts])

    def _grams(self, samples: Sequence[Sample]) -> _Grams:
        texts = TokenNumbering(self.tokenizer).texts(sample.response for sample in samples)
        owners = np.repeat(np.arange(len(samples)), texts.lengths)
        base = int(texts.tokens.max(initial=0)) + 1
        numbers = texts.tokens.astype(np.int64)
        for n in range(2, self.n + 1):
            keys = gram_keys(numbers, texts, n, base)
            numbers = np.full_like(keys, -1)
            numbers[keys >= 0] = np.unique(keys[keys >= 0], return_inverse=True)[1]
        pairs = np.unique(numbers[numbers >= 0] * len(samples) + owners[numbers >= 0])
        lengths = texts.lengths if self.per == "token" else np.maximum(texts.lengths - self.n + 1, 0)
        grams, replies = np.divmod(pairs, max(len(samples), 1))
        return _Grams(replies, np.flatnonzero(np.diff(grams, prepend=-1)), lengths)


@dataclass(frozen=True, slots=True)
class _Grams:
    """Replies that contain each distinct n-gram: the replies with n-gram g start at `replies[starts[g]]`."""

    replies: NDArray[np.int64]
    starts: NDArray[np.int64]
    totals: NDArray[np.int64]

    def distinct(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of distinct n-grams in each resampled set; eight sets share a byte."""
        if not len(self.starts):
            return np.zeros(len(counts), dtype=np.int64)
        present = np.packbits(counts > 0, axis=0)[:, self.replies]
        anywhere = np.bitwise_or.reduceat(present, self.starts, axis=1)
        return np.asarray(np.count_nonzero(np.unpackbits(anywhere, axis=0, count=len(counts)), axis=1))


def _has_tokens(text: str, least: int, tokenizer: Tokenizer) -> bool:
    # the first words usually suffice; a text with a line break is used whole, because 13a reads across it
    units = text.split() if tokenizer.by_word and "\n" not in text else [text]
    tokens = 0
    for unit in units:
        tokens += len(tokenizer.tokens(unit))
        if tokens >= least:
            return True
    return False

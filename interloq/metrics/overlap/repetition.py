# SPDX-License-Identifier: Apache-2.0
"""Repetition: the share of a reply's n-grams that occurred before; based on See, Roller, Kiela and Weston (2019).

repetition = number of n-grams of the reply that occur earlier / number of its n-grams

"Earlier" means in a turn of the context or, for a second occurrence, in the reply itself; with `scope='reply'` it means
in the reply alone. See et al. count bigrams that repeat the speaker's own turns, the partner's and the same reply as
three attributes, without stop words. Here all turns count alike, because contexts need not name their speakers, and all
words count, because lists of stop words exist for few languages. Needs no references.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np

from interloq.data.text.token_texts import TokenNumbering
from interloq.data.text.tokenize import TokenizerChoice
from interloq.errors import SpecError
from interloq.metrics.metric import Array, Metric, score_rows
from interloq.needs import Needs
from interloq.records import Sample
from interloq.registry import component


@dataclass(frozen=True)
class Repetition(Metric, name="repetition"):
    """Share of a reply's n-grams that occur earlier in the dialogue or in the reply."""

    papers = ("see-etal-2019-makes",)
    needs = Needs()
    direction = "lower"
    n: Annotated[int, "tokens in an n-gram, 1 to 9"] = 2
    scope: Annotated[Literal["dialogue", "reply"], "compare with the context and the reply, or the reply alone"] = (
        "dialogue"
    )
    tokenizer: TokenizerChoice = component("tokenizer", "13a(lowercase=True)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.n <= 9:
            raise SpecError(f"repetition: n must be from 1 to 9, got {self.n}")

    def unscorable(self, sample: Sample) -> str | None:
        if len(self.tokenizer.tokens(sample.response)) < self.n:
            return f"no {self.n}-grams"
        return None

    def stats(self, samples: Sequence[Sample]) -> Array:
        texts: list[str] = []
        for sample in samples:
            texts += [*self._earlier_texts(sample), sample.response]
        numbered = TokenNumbering(self.tokenizer).texts(texts)
        tokens = numbered.tokens.tolist()
        text_grams = (self._grams(tokens[start:end]) for start, end in pairwise(numbered.ends.tolist()))
        scores = np.full(len(samples), np.nan)
        for i, sample in enumerate(samples):
            said: set[tuple[int, ...]] = set()
            for _ in self._earlier_texts(sample):
                said.update(next(text_grams))
            reply_grams = next(text_grams)
            repeated = 0
            for gram in reply_grams:
                repeated += gram in said
                said.add(gram)
            if reply_grams:
                scores[i] = repeated / len(reply_grams)
        return score_rows(scores)

    def _earlier_texts(self, sample: Sample) -> list[str]:
        if self.scope == "reply":
            return []
        return [turn.text for turn in sample.context]

    def _grams(self, tokens: Sequence[int]) -> list[tuple[int, ...]]:
        return [tuple(tokens[start : start + self.n]) for start in range(len(tokens) - self.n + 1)]

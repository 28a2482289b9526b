# SPDX-License-Identifier: Apache-2.0
"""Length: the mean number of tokens in a reply.

It does not measure quality, but should be reported with every other metric: n-gram metrics penalise short replies, and
diversity decreases with length. `length(tokenizer='char')` counts characters without white space. An empty reply has
length 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from interloq.data.text.token_texts import TokenNumbering
from interloq.data.text.tokenize import TokenizerChoice
from interloq.metrics.metric import Array, Metric, score_rows
from interloq.needs import Needs
from interloq.records import Sample
from interloq.registry import component


@dataclass(frozen=True)
class Length(Metric, name="length"):
    """Number of tokens in a reply."""

    needs = Needs()
    direction = "neither"
    tokenizer: TokenizerChoice = component("tokenizer", "13a")

    def stats(self, samples: Sequence[Sample]) -> Array:
        texts = TokenNumbering(self.tokenizer).texts(sample.response for sample in samples)
        return score_rows(texts.lengths.astype(float))

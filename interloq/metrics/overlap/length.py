# SPDX-License-Identifier: Apache-2.0
"""Length: the mean number of tokens in a reply.

It does not measure quality, but should be reported with every other metric: n-gram metrics penalise short replies, and
diversity decreases with length. `length(tokenizer='char')` counts characters without white space. An empty reply has
length 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from interloq.data.text.token_texts import TokenNumbering
from interloq.data.text.tokenize import TokenizerChoice
from interloq.metrics.metric import Array, Direction, mean_value, score_rows
from interloq.records import Sample
from interloq.registry import Component, component


@dataclass(frozen=True)
class Length(Component):
    """Number of tokens in a reply."""

    tokenizer: TokenizerChoice = component("tokenizer", "13a")
    direction: ClassVar[Direction] = "neither"

    def unscorable(self, sample: Sample) -> str | None:  # noqa: ARG002 - every reply has a length
        return None

    def stats(self, samples: Sequence[Sample]) -> Array:
        texts = TokenNumbering(self.tokenizer).texts(sample.response for sample in samples)
        return score_rows(texts.lengths.astype(float))

    def value(self, total: Array) -> Array:
        return mean_value(total)

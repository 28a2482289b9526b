# SPDX-License-Identifier: Apache-2.0
"""Perplexity: how much does the reply surprise a language model? Unlike most metrics, lower is better.

perplexity = exp( − log p(reply | context) / tokens of the reply )

`context=False` ignores the context. A set's perplexity is computed over all tokens of all replies, as is usual, not as
the mean of the replies' perplexities. `log=True` omits exp: nats per token. A mean of perplexities is dominated by its
few largest values, and a mean of nats per token is not, so rank systems by the latter. A reply without text has no
tokens and is unscored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from interloq.metrics.likelihood.fed import DialogueLikelihood, LanguageModel, Layout, Longest, context
from interloq.metrics.metric import Array, replies
from interloq.records import Sample


@dataclass(frozen=True)
class Perplexity(DialogueLikelihood, name="perplexity"):
    """How surprising the reply is to a language model."""

    papers = ("jelinek-etal-1977-perplexity",)
    direction = "lower"
    is_mean = False  # over tokens, not over replies
    model: LanguageModel
    context: Annotated[bool, "whether the model sees the context"] = True
    layout: Layout = "eos"
    longest: Longest = 1024
    log: Annotated[bool, "return nats per token instead of the perplexity"] = False

    def stats(self, samples: Sequence[Sample]) -> Array:
        contexts: list[tuple[str, ...]] = [()] * len(samples)
        if self.context:
            contexts = list(map(context, samples))
        sums, counts = self.network().reply_scores(contexts, replies(samples), layout=self.layout)
        return np.column_stack([-sums, counts.astype(float)])

    def value(self, total: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            nats = total[..., 0] / total[..., 1]
            return np.asarray(nats if self.log else np.exp(nats))

    def details(self, total: Array) -> dict[str, float]:
        """Return the number of tokens, and nats per token."""
        return {"tokens": float(total[1]), "nats_per_token": float(total[0] / total[1])}

# SPDX-License-Identifier: Apache-2.0
"""How much more likely is the reply after this context than after none?

mean   ( log p(reply | context) − log p(reply) ) / tokens of the reply
sum    log p(reply | context) − log p(reply)

The pointwise mutual information of context and reply (Li et al., 2016, "A Diversity-Promoting Objective Function for
Neural Conversation Models"), per token or for the whole reply. A dull reply that fits everywhere is also likely without
a context, so it gains nothing; a likelihood alone would favour it. Higher is better; below 0 the context makes the
reply less likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from interloq.metrics.likelihood.fed import DialogueLikelihood, LanguageModel, Layout, Longest, Over, context
from interloq.metrics.metric import Array, needs_reply, score_rows
from interloq.metrics.network_metric import needs_context
from interloq.needs import LANGUAGE_MODEL, Needs
from interloq.options import limited
from interloq.records import Sample


@dataclass(frozen=True)
class Pmi(DialogueLikelihood, name="pmi"):
    """How much more likely the reply is after its context than without one."""

    papers = ("li-etal-2016-diversity",)
    needs = Needs(context=True, fields={"model": LANGUAGE_MODEL}, extra="smollm2|encoder")
    model: LanguageModel
    over: Annotated[Over, "per token, or for the whole reply, which grows with its length"] = "mean"
    turns: Annotated[int, "last turns of the context that are read"] = limited(4, least=1)
    layout: Layout = "eos"
    longest: Longest = 1024

    def unscorable(self, sample: Sample) -> str | None:
        return needs_context(sample) or needs_reply(sample)

    def stats(self, samples: Sequence[Sample]) -> Array:
        scores = np.full(len(samples), np.nan)
        places = [i for i, sample in enumerate(samples) if not self.unscorable(sample)]
        replies = [samples[i].response for i in places]
        after, tokens = self._log_likelihoods([context(samples[i])[-self.turns :] for i in places], replies)
        alone, _ = self._log_likelihoods([()] * len(places), replies)
        scores[places] = (after - alone) / (tokens if self.over == "mean" else 1)
        return score_rows(scores)

    def _log_likelihoods(self, contexts: Sequence[tuple[str, ...]], replies: Sequence[str]) -> tuple[Any, Any]:
        scored: tuple[Any, Any] = self.network().reply_scores(contexts, replies, layout=self.layout)
        return scored

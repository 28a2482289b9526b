"""BERT-RUBER's unreferenced scorer (Ghazarian et al., 2019): does the reply go with the utterance before it?

s = σ( MLP([q; qᵀ M r; r]) ), with q and r the pooled token vectors that a frozen encoder gives the last turn of the
context and the reply; see `interloq.models.bert_ruber` for the network. `model` is a folder that `interloq train
bert-ruber` has written, `encoder` where its encoder lies now, if not where it was. An empty reply is scored 0: it goes
with nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from interloq.metrics.deep_am import needs_context
from interloq.metrics.loaded import loaded
from interloq.metrics.metric import Array, mean_value, score_rows
from interloq.records import Sample
from interloq.registry import Component


@dataclass(frozen=True)
class BertRuber(Component):
    model: str
    encoder: str | None = None

    def built_with(self) -> str:
        return str(self._scorer().signature())

    def unscorable(self, sample: Sample) -> str | None:
        return needs_context(sample)

    def stats(self, samples: Sequence[Sample]) -> Array:
        filled = np.array([bool(sample.response.strip()) for sample in samples], dtype=bool)
        scored = [sample for sample, has in zip(samples, filled, strict=True) if has]
        scores = np.zeros(len(samples))
        scores[filled] = self._scorer().scores(
            [sample.context[-1].text for sample in scored], [sample.response for sample in scored]
        )
        return score_rows(scores)

    def value(self, total: Array) -> Array:
        return mean_value(total)

    def _scorer(self) -> Any:
        return loaded("bert_ruber", "interloq.models.bert_ruber:BertRuberScorer.load", self.model, encoder=self.encoder)

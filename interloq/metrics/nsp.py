"""BERT-NSP (Devlin et al., 2019), as a baseline of Tsuta et al. (2024): P(the reply follows the utterance).

P(is-next | [CLS] utterance [SEP] reply [SEP]) of a BERT with its own head for next-sentence prediction, the last turn
of the context being the utterance. In transformers label 0 is is-next. An empty reply is scored 0: nothing follows.
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
class Nsp(Component):
    model: str

    def built_with(self) -> str:
        return str(self._model().signature())

    def unscorable(self, sample: Sample) -> str | None:
        return needs_context(sample)

    def stats(self, samples: Sequence[Sample]) -> Array:
        filled = np.array([bool(sample.response.strip()) for sample in samples], dtype=bool)
        scored = [sample for sample, has in zip(samples, filled, strict=True) if has]
        scores = np.zeros(len(samples))
        scores[filled] = self._model().probabilities(
            [sample.context[-1].text for sample in scored], [sample.response for sample in scored]
        )
        return score_rows(scores)

    def value(self, total: Array) -> Array:
        return mean_value(total)

    def _model(self) -> Any:
        return loaded("nsp", "interloq.models.nsp:NextSentence", self.model)

# SPDX-License-Identifier: Apache-2.0
"""BERT-NSP (Devlin et al., 2019), as a baseline of Tsuta et al. (2024): P(the reply follows the utterance).

P(is-next | [CLS] utterance [SEP] reply [SEP]) of a BERT with its own next-sentence-prediction head; the utterance is
the last turn of the context. In transformers label 0 is is-next. An empty reply scores 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interloq.metrics.network_metric import ContextReply
from interloq.models.loaded import load_model
from interloq.needs import Needs


@dataclass(frozen=True)
class Nsp(ContextReply, name="nsp"):
    """Whether the reply follows, by BERT's next-sentence-prediction head."""

    papers = ("devlin-etal-2019-bert",)
    needs = Needs(
        context=True,
        fields={"model": "a BERT model with its next-sentence head: a folder, or hub:org/name@revision"},
        extra="encoder",
    )

    def network(self) -> Any:
        return load_model("metric 'nsp'", "interloq.models.nsp:NextSentence", self.model)

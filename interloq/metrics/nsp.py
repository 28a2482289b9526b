"""BERT-NSP (Devlin et al., 2019), as a baseline of Tsuta et al. (2024): P(the reply follows the utterance).

P(is-next | [CLS] utterance [SEP] reply [SEP]) of a BERT with its own head for next-sentence prediction, the last turn
of the context being the utterance. In transformers label 0 is is-next. An empty reply is scored 0: nothing follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interloq.metrics.context_reply import ContextReply
from interloq.models.loaded import loaded


@dataclass(frozen=True)
class Nsp(ContextReply):
    """Whether the reply follows, by BERT's head for next sentences."""

    def network(self) -> Any:
        return loaded("metric 'nsp'", "interloq.models.nsp:NextSentence", self.model)

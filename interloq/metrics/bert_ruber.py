"""BERT-RUBER's unreferenced scorer (Ghazarian et al., 2019): does the reply go with the utterance before it?

s = σ( MLP([q; qᵀ M r; r]) ), with q and r the pooled token vectors that a frozen encoder gives the last turn of the
context and the reply; see `interloq.scorers.bert_ruber.model` for the network. `model` is a folder that `interloq train
bert-ruber` has written, `encoder` where its encoder lies now, if not where it was. An empty reply is scored 0: it goes
with nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from interloq.metrics.context_reply import ContextReply
from interloq.models.loaded import loaded


@dataclass(frozen=True)
class BertRuber(ContextReply):
    """BERT-RUBER's unreferenced scorer."""

    places = ("model", "encoder")
    encoder: Annotated[str | None, "where the encoder is now; `None`: where it was in training"] = None

    def network(self) -> Any:
        made = "interloq.scorers.bert_ruber.model:BertRuberScorer.load"
        return loaded("metric 'bert_ruber'", made, self.model, encoder=self.encoder)

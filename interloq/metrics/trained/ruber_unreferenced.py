# SPDX-License-Identifier: Apache-2.0
"""The unreferenced scorers of RUBER and BERT-RUBER: does the reply fit the utterance before it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from interloq.metrics.network_metric import ContextReply
from interloq.models.loaded import load_model
from interloq.needs import SENTENCE_ENCODER, Needs


@dataclass(frozen=True)
class RuberUnreferenced(ContextReply, name="ruber_unreferenced"):
    """RUBER's unreferenced scorer (Tao et al., 2018): does the reply fit the utterance before it?

    s_U = σ( MLP([q; qᵀ M r; r]) ), where q and r are the Bi-GRU vectors of the last turn of the context and of the
    reply; see `interloq.scorers.ruber.model` for the network. `model` is a folder written by `interloq train ruber`. An
    empty reply scores 0.
    """

    papers = ("tao-etal-2018-ruber",)
    needs = Needs(
        context=True,
        fields={"model": "a trained scorer; make one: interloq train ruber PAIRS -o FOLDER"},
        extra="rater",
    )
    libraries = ("torch", "sentencepiece")
    is_probability = False  # it is trained on the margin between scores, not on their level

    def network(self) -> Any:
        return load_model(
            "metric 'ruber_unreferenced'", "interloq.scorers.ruber.model:RuberScorer.load", self.model, extra="rater"
        )


@dataclass(frozen=True)
class BertRuber(ContextReply, name="bert_ruber"):
    """BERT-RUBER's unreferenced scorer (Ghazarian et al., 2019): does the reply fit the utterance before it?

    s = σ( MLP([q; qᵀ M r; r]) ), where q and r are a frozen encoder's pooled token vectors of the last turn of the
    context and of the reply; see `interloq.scorers.bert_ruber.model` for the network. `model` is a folder written by
    `interloq train bert-ruber`, `encoder` the current location of its encoder if it has moved. An empty reply scores 0.
    """

    papers = ("ghazarian-etal-2019-better",)
    needs = Needs(
        context=True,
        fields={
            "model": "a trained scorer; "
            f"make one: interloq train bert-ruber PAIRS --encoder {SENTENCE_ENCODER} -o FOLDER"
        },
        extra="encoder",
    )
    places = ("model", "encoder")
    encoder: Annotated[str | None, "current location of the encoder; `None`: as in training"] = None

    def network(self) -> Any:
        made = "interloq.scorers.bert_ruber.model:BertRuberScorer.load"
        return load_model("metric 'bert_ruber'", made, self.model, encoder=self.encoder)

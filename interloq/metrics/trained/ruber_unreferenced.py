# SPDX-License-Identifier: Apache-2.0
"""RUBER's unreferenced scorer (Tao et al., 2018): does the reply fit the utterance before it?

s_U = σ( MLP([q; qᵀ M r; r]) ), where q and r are the Bi-GRU vectors of the last turn of the context and of the reply;
see `interloq.scorers.ruber.model` for the network. `model` is a folder written by `interloq train ruber`. An empty
reply scores 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interloq.metrics.context_reply import ContextReply
from interloq.models.loaded import loaded
from interloq.needs import Needs


@dataclass(frozen=True)
class RuberUnreferenced(ContextReply, name="ruber_unreferenced"):
    """Whether the reply fits the utterance, learned from logs."""

    papers = ("tao-etal-2018-ruber",)
    needs = Needs(
        context=True,
        fields={"model": "a trained scorer; make one: interloq train ruber PAIRS -o FOLDER"},
        extra="rater",
    )
    libraries = ("torch", "sentencepiece")
    is_probability = False  # it is trained on the margin between scores, not on their level

    def network(self) -> Any:
        return loaded(
            "metric 'ruber_unreferenced'", "interloq.scorers.ruber.model:RuberScorer.load", self.model, extra="rater"
        )

"""RUBER's unreferenced scorer (Tao et al., 2018): does the reply go with the utterance before it?

s_U = σ( MLP([q; qᵀ M r; r]) ), with q and r the Bi-GRU vectors of the last turn of the context and of the reply; see
`interloq.scorers.ruber.model` for the network. `model` is a folder that `interloq train ruber` has written. An empty
reply is scored 0: it goes with nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interloq.metrics.context_reply import ContextReply
from interloq.models.loaded import loaded


@dataclass(frozen=True)
class RuberUnreferenced(ContextReply):
    """Whether the reply goes with the utterance, learned from logs."""

    libraries = ("torch", "sentencepiece")
    is_probability = False  # it learns a margin between scores, not their level

    def network(self) -> Any:
        return loaded(
            "metric 'ruber_unreferenced'", "interloq.scorers.ruber.model:RuberScorer.load", self.model, extra="rater"
        )

"""The NN-rater of vBERTScore (Tsuta et al., 2023), a transformer that `interloq train rater --encoder` trains on logs.

It reads utterance, gold reply and reference together. `network_rater.py` says what it is asked, and what fields mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interloq.models.loaded import loaded
from interloq.rate.network_rater import NetworkRater


@dataclass(frozen=True)
class Bert(NetworkRater):
    """The rater that a fine-tuned transformer is."""

    def network(self) -> Any:
        return loaded("rater 'bert'", "interloq.rate.bert_model:BertRaterModel.load", self.model)

# SPDX-License-Identifier: Apache-2.0
"""The NN-rater of vBERTScore (Tsuta et al., 2023): a transformer trained on logs by `interloq train rater --encoder`.

It reads utterance, gold reply and reference together. See `network_rater.py` for its input and fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interloq.models.loaded import loaded
from interloq.rate.network_rater import NetworkRater


@dataclass(frozen=True)
class Bert(NetworkRater):
    """Rater that is a fine-tuned transformer."""

    def network(self) -> Any:
        return loaded("rater 'bert'", "interloq.rate.bert_model:BertRaterModel.load", self.model)

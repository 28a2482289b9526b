# SPDX-License-Identifier: Apache-2.0
"""The NN-rater of υBLEU (Tsuta et al., 2020 and 2023): a Bi-GRU trained on logs by `interloq train rater`.

See `network_rater.py` for its input and fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interloq.models.loaded import loaded
from interloq.rate.network_rater import NetworkRater


@dataclass(frozen=True)
class Gru(NetworkRater):
    """Rater that is a Bi-GRU."""

    libraries = ("torch", "sentencepiece")

    def network(self) -> Any:
        return loaded("rater 'gru'", "interloq.rate.model:RaterModel.load", self.model, extra="rater")

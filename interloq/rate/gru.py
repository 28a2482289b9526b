"""The NN-rater of υBLEU (Tsuta et al., 2020 and 2023), a Bi-GRU that `interloq train rater` trains on logs.

`network_rater.py` says what it is asked, and what its fields mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interloq.models.loaded import loaded
from interloq.rate.network_rater import NetworkRater


@dataclass(frozen=True)
class Gru(NetworkRater):
    """The rater that a Bi-GRU is."""

    libraries = ("torch", "sentencepiece")

    def network(self) -> Any:
        return loaded("rater 'gru'", "interloq.rate.model:RaterModel.load", self.model, extra="rater")

"""υBLEU (Tsuta et al., 2020 and 2023): references from logs, rated by a network trained on logs, weigh BLEU.

extend (`interloq extend`) → rate (`interloq rate`) → `delta_bleu`, in one call; the score is that of the three verbs.
"""

from __future__ import annotations

from dataclasses import dataclass

from interloq.data.tokenize import Tokenizer
from interloq.metrics.delta_bleu import DeltaBleu, Mode
from interloq.pipelines.rated import RatedReferences
from interloq.registry import component


@dataclass(frozen=True)
class Vbleu(RatedReferences):
    order: int = 2
    mode: Mode = "sentence"
    tokenizer: Tokenizer = component("tokenizer", "13a")

    def metric(self) -> DeltaBleu:
        return DeltaBleu(order=self.order, mode=self.mode, tokenizer=self.tokenizer)

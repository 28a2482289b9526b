# SPDX-License-Identifier: Apache-2.0
"""υBLEU (Tsuta et al., 2020 and 2023): BLEU with references from logs, weighted by a network trained on logs.

extend (`interloq extend`) → rate (`interloq rate`) → `delta_bleu`, in one call; the score is the same as from the
separate commands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from interloq.data.text.tokenize import TokenizerChoice
from interloq.metrics.combined.rated_references import RatedReferences
from interloq.metrics.overlap.delta_bleu import DeltaBleu, Mode
from interloq.needs import INDEX, Needs
from interloq.registry import component


@dataclass(frozen=True)
class Vbleu(RatedReferences, name="vbleu"):
    """ΔBLEU with references found in logs and rated by a network."""

    papers = ("tsuta-etal-2020-ubleu", "tsuta-etal-2023-uncertainty")
    needs = Needs(context=True, fields={"index": INDEX}, extra="retrieve,ready|rater")
    order: Annotated[int, "longest n-gram, 1 to 9"] = 2
    mode: Annotated[Mode, "the υBLEU code, the ΔBLEU code, or the paper's formula, as in `delta_bleu`"] = "sentence"
    tokenizer: TokenizerChoice = component("tokenizer", "13a")

    def metric(self) -> DeltaBleu:
        return DeltaBleu(order=self.order, mode=self.mode, tokenizer=self.tokenizer)

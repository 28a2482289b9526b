"""vBERTScore (Tsuta et al., 2023): references from logs, rated by a network trained on logs, weigh BERTScore.

extend (`interloq extend`) → rate (`interloq rate`) → `bertscore` with weights, in one call; the score is that of the
three verbs. The weight stands outside the similarity (default) or, as the paper prints it, inside the maximum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from interloq.metrics.baseline import Part
from interloq.metrics.bertscore import BertScore
from interloq.pipelines.rated import RatedReferences


@dataclass(frozen=True)
class Vbertscore(RatedReferences):
    model: str = field(kw_only=True)
    layer: int | None = None
    idf: bool = False
    rescale: str = ""
    part: Part = "f"
    weights: Literal["outside", "inside"] = "outside"

    def metric(self) -> BertScore:
        return BertScore(
            self.model, self.layer, idf=self.idf, rescale=self.rescale, part=self.part, weights=self.weights
        )

    def built_with(self) -> str:
        return self.metric().built_with()

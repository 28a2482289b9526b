"""vBERTScore (Tsuta et al., 2023): references from logs, rated by a network trained on logs, weigh BERTScore.

extend (`interloq extend`) → rate (`interloq rate`) → `bertscore` with weights, in one call; the score is that of the
three verbs. The weight stands outside the similarity (default) or, as the paper prints it, inside the maximum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from interloq.metrics.baseline import Part
from interloq.metrics.bertscore import BertScore
from interloq.pipelines.rated import RatedReferences
from interloq.signature import NETWORK


@dataclass(frozen=True)
class Vbertscore(RatedReferences):
    """BERTScore with references found in logs and rated by a network."""

    places = ("index", "model", "rescale")
    libraries = NETWORK
    model: Annotated[str, "the encoder that compares tokens, as in `bertscore`"] = field(kw_only=True)
    layer: Annotated[int | None, "the layer whose vectors are compared, from 1; `None`: the last"] = None
    idf: Annotated[bool, "whether tokens that are rare among all references, retrieved ones too, weigh more"] = False
    rescale: Annotated[str, "a baseline made by `interloq train baseline`; weights are applied after rescaling"] = ""
    part: Annotated[Part, "precision, recall or F"] = "f"
    weights: Annotated[
        Literal["outside", "inside"],
        "whether the weight stands outside the similarity, or inside the maximum as printed in the paper",
    ] = "outside"

    def metric(self) -> BertScore:
        return BertScore(
            self.model, self.layer, idf=self.idf, rescale=self.rescale, part=self.part, weights=self.weights
        )

    def built_with(self) -> str:
        return f"{super().built_with()},{self.metric().built_with()}"

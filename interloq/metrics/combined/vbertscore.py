# SPDX-License-Identifier: Apache-2.0
"""vBERTScore (Tsuta et al., 2023): BERTScore with references from logs, weighted by a network trained on logs.

extend (`interloq extend`) → rate (`interloq rate`) → `bertscore` with weights, in one call, with the same score as the
three commands. By default weights only choose the eight best references, because that agreed with people better
(docs/rate.md); the paper's metric is `best=None,weigh=True`. Then the weight is outside the similarity (default) or, as
printed in the paper, inside the maximum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from interloq.errors import SpecError
from interloq.metrics.combined.rated_references import Best, RatedReferences, Weigh
from interloq.metrics.contextual.bertscore import BertScore, Precision
from interloq.metrics.contextual.bertscore_baseline import Part
from interloq.needs import ENCODER, INDEX, Needs
from interloq.signature import NETWORK


@dataclass(frozen=True)
class Vbertscore(RatedReferences, name="vbertscore"):
    """BERTScore with references found in logs and rated by a network."""

    papers = ("zhang-etal-2020-bertscore", "tsuta-etal-2023-uncertainty")
    needs = Needs(context=True, fields={"index": INDEX, "model": ENCODER}, extra="retrieve,ready|encoder")
    places = ("index", "model", "rescale")
    libraries = NETWORK
    best: Best = 8
    weigh: Weigh = False
    model: Annotated[str, "encoder, as in `bertscore`"] = field(kw_only=True)
    layer: Annotated[int | None, "layer whose vectors are compared, from 1; `None`: the last"] = None
    idf: Annotated[bool, "whether rare tokens weigh more; counted over all references, including retrieved ones"] = (
        False
    )
    rescale: Annotated[str, "baseline made by `interloq train baseline`; weights are applied after rescaling"] = ""
    part: Annotated[Part, "precision, recall or F"] = "f"
    weights: Annotated[
        Literal["outside", "inside"],
        "apply weights outside the similarity, or inside the maximum as printed in the paper",
    ] = "outside"
    precision: Precision = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights == "inside" and not self.weigh:
            raise SpecError("vbertscore: weights='inside' changes nothing if weights do not count; add weigh=True")

    @property
    def needs_all(self) -> bool:
        """Whether no sample can be scored before all are rated, as for idf weights."""
        return self.idf or super().needs_all

    def metric(self) -> BertScore:
        return BertScore(
            self.model,
            self.layer,
            idf=self.idf,
            rescale=self.rescale,
            part=self.part,
            weights=self.weights,
            precision=self.precision,
        )

    def built_with(self) -> str:
        return f"{super().built_with()},{self.metric().built_with()}"

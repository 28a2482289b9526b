# SPDX-License-Identifier: Apache-2.0
"""MLM: likelihood of the reply under a masked language model, without its context.

likelihood = 1/n · Σ log p(token | the other tokens)      the mean: how fluent the reply is
surprise   = − Σ log p(token | the other tokens)          the sum: how much it says; Phy et al. (2020) call it MLM-NLL

`model` is an encoder with a masked-language-model head, such as one made by `interloq train adapt`. A reply without
text, or without a token that the encoder knows, is unscored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from interloq.metrics.metric import Array, needs_reply, replies, score_rows
from interloq.metrics.network_metric import NetworkMetric
from interloq.models.loaded import load_model
from interloq.needs import SENTENCE_ENCODER, Needs
from interloq.records import Sample

UNKNOWN = "no known tokens"


@dataclass(frozen=True)
class Mlm(NetworkMetric, name="mlm"):
    """How well an encoder predicts each token of the reply from the others."""

    papers = ("salazar-etal-2020-masked", "phy-etal-2020-deconstruct")
    needs = Needs(
        fields={
            "model": "an encoder that predicts masked tokens; "
            f"make one: interloq train adapt PAIRS --model {SENTENCE_ENCODER} -o FOLDER"
        },
        extra="encoder",
    )
    direction = "neither"
    model: Annotated[str, "encoder with a masked-language-model head: a folder, a package, or `hub:org/name@revision`"]
    mode: Annotated[Literal["likelihood", "surprise"], "mean log-likelihood, or minus the sum"] = "likelihood"

    def usual_scores(self) -> tuple[float, float]:
        """Return the quartiles over replies of the log that the encoder was adapted to."""
        low, high = self.network().quartiles(self.mode)
        return low, high

    def unscorable(self, sample: Sample) -> str | None:
        if reason := needs_reply(sample):
            return reason
        return None if self.network().count_known(sample.response) else UNKNOWN

    def stats(self, samples: Sequence[Sample]) -> Array:
        sums, counts = self.network().scores(replies(samples))
        from interloq.models.mlm import values

        return score_rows(values(self.mode, sums, counts))

    def network(self) -> Any:
        return load_model("metric 'mlm'", "interloq.models.mlm:MaskedLikelihood.load", self.model)

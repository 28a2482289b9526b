# SPDX-License-Identifier: Apache-2.0
"""Deep AM, the adequacy half of Deep AM-FM (Zhang et al., 2021): does the reply mean what it should?

reference_free: AM = cos( v(previous utterance), v(reply) )
referenced:     AM = max_j cos( v(reference j), v(reply) )

v is the mean of an encoder's token vectors, special tokens included, at the last layer or at `layer`. The authors first
adapt a BERT to the domain; here the given encoder is used. A text of only white space has no direction: its cosine is
0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from interloq.metrics.metric import (
    Array,
    Reduction,
    best_reference,
    needs_references,
    reference_counts,
    reference_texts,
    replies,
    score_rows,
)
from interloq.metrics.network_metric import NetworkMetric, needs_context
from interloq.models.loaded import load_model
from interloq.needs import ENCODER, Needs
from interloq.records import Sample

Mode = Literal["reference_free", "referenced"]


@dataclass(frozen=True)
class DeepAm(NetworkMetric, name="deep_am"):
    """Cosine of the sentence vectors of the reply and of what it is compared with."""

    papers = ("zhang-etal-2021-deep",)
    needs = Needs(context=True, fields={"model": ENCODER}, extra="ready|encoder")
    model: Annotated[str, "encoder: a folder, an installed package, or `hub:org/name@revision`"]
    layer: Annotated[int | None, "layer whose vectors are used; 0: the embeddings; `None`: the last"] = None
    mode: Annotated[Mode, "compare the reply with the utterance, or with the references"] = "reference_free"

    @property
    def over_references(self) -> Reduction | None:
        """ "max" if replies are compared with references."""
        return "max" if self.mode == "referenced" else None

    def unscorable(self, sample: Sample) -> str | None:
        return needs_references(sample) if self.mode == "referenced" else needs_context(sample)

    def stats(self, samples: Sequence[Sample]) -> Array:
        scores = self.by_reference(samples)
        if self.mode == "referenced":
            scores = best_reference(scores, samples)
        return score_rows(scores)

    def by_reference(self, samples: Sequence[Sample]) -> Array:
        """Return the cosine of each reply with each of its references, or with the utterance before it."""
        if self.mode == "referenced":
            texts, counts = reference_texts(samples), reference_counts(samples)
        else:
            texts, counts = [sample.context[-1].text for sample in samples], [1] * len(samples)
        vectors = self.network().sentences([*texts, *replies(samples)]).astype(np.float64)
        reply_vectors = np.repeat(vectors[len(texts) :], counts, axis=0)
        return np.asarray(np.clip((vectors[: len(texts)] * reply_vectors).sum(axis=1), -1, 1))

    def network(self) -> Any:
        return load_model("metric 'deep_am'", "interloq.models.encoder:Encoder", self.model, layer=self.layer)

# SPDX-License-Identifier: Apache-2.0
"""The weighted mean of two raters: w = (1 − share) · w₁ + share · w₂.

Two raters that read different things know more than either: `bert` reads the last utterance and the gold reply,
`by(relevance(…))` the whole context. Three raters can be combined as an ensemble of one rater and an ensemble. A sample
that one of the two cannot rate has the other's weights times its share. `human` is refused: its weight of 0 for a
reference that nobody rated is not a judgment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from interloq.errors import SpecError
from interloq.rate.rater import Rater
from interloq.records import Sample
from interloq.registry import name_of
from interloq.signature import LIBRARIES, VERSION, Signature, signature


@dataclass(frozen=True)
class Ensemble(Rater, name="ensemble"):
    """Two raters as one."""

    first: Annotated[Rater, "a rater such as `bert(model='rater')`"] = field(metadata={"kind": "rater"})
    second: Annotated[Rater, "another one, such as `by(relevance(model='relevance'))`"] = field(
        metadata={"kind": "rater"}
    )
    share: Annotated[float, "the second rater's share in the mean, between 0 and 1"] = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.share < 1:
            raise SpecError(f"ensemble: share must be between 0 and 1, got {self.share}")
        for rater in (self.first, self.second):
            if not rater.rates_all:
                raise SpecError(f"ensemble: {name_of(rater)} rates only some references; choose a rater that rates all")

    def rate(self, samples: Sequence[Sample]) -> list[Sample]:
        both = zip(self.first.rate(samples), self.second.rate(samples), strict=True)
        return [self._mean(first, second) for first, second in both]

    def signature(self) -> Signature:
        first, second = (rater.signature().without(VERSION, *LIBRARIES) for rater in (self.first, self.second))
        return signature(self, first=first, second=second)

    def _mean(self, first: Sample, second: Sample) -> Sample:
        references = []
        for one, other in zip(first.references, second.references, strict=True):
            weight = (1 - self.share) * one.weight + self.share * other.weight
            references.append(replace(one, weight=weight))
        return replace(first, references=tuple(references))

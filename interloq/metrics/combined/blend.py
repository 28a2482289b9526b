# SPDX-License-Identifier: Apache-2.0
"""Blend: a weighted sum of standardised metrics.

score = Σ wᵢ (sᵢ − mᵢ) / σᵢ   over the blended metrics, with weight w, mean m and scale σ

`interloq choose` learns the weights from rated samples and writes the means and standard deviations of the metrics on
these samples into the spec, so a reply's score does not depend on the other replies scored with it. A metric for which
lower is better has a negative weight. A sample that one metric cannot score is unscored.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Self

import numpy as np

from interloq.errors import SpecError
from interloq.metrics.combined.ruber import CombinedMetric, fit_part, source_of
from interloq.metrics.metric import Array, Metric, SetMetric, score_rows
from interloq.needs import Needs
from interloq.records import Sample
from interloq.registry import name_of


@dataclass(frozen=True)
class Blend(CombinedMetric, name="blend"):
    """Weighted sum of standardised metrics."""

    needs = Needs(
        fields={"metrics": "metrics, such as (chrf,rouge_l); interloq choose RATED -o FILE learns their weights"}
    )
    metrics: Annotated[tuple[Metric, ...], "the metrics, such as `(chrf,rouge_l)`"] = field(metadata={"kind": "metric"})
    weights: Annotated[tuple[float, ...], "weight of each metric; empty: equal weights that sum to 1"] = ()
    means: Annotated[tuple[float, ...], "subtracted from each metric's scores; empty: nothing"] = ()
    scales: Annotated[tuple[float, ...], "each metric's scores are divided by these; empty: by 1"] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("weights", "means", "scales"):
            self._check_numbers(name, getattr(self, name))
        if self.scales and min(self.scales) <= 0:
            raise SpecError(f"blend: scales must be positive, got {min(self.scales)}")
        for metric in self.metrics:
            if isinstance(metric, SetMetric):
                raise SpecError(f"blend: {name_of(metric)} scores sets of replies, not single ones")

    def _check_numbers(self, name: str, values: object) -> None:
        good = isinstance(values, tuple) and all(isinstance(v, int | float) and math.isfinite(v) for v in values)
        if not good or (values and len(values) != len(self.metrics)):  # type: ignore[arg-type]
            raise SpecError(f"blend: {name} must be {len(self.metrics)} numbers, one per metric, got {values!r}")

    def fit(self, samples: Sequence[Sample]) -> Self:
        """Return a copy whose metrics are fitted to these samples, if they have constants of their own."""
        return dataclasses.replace(self, metrics=tuple(fit_part(metric, samples) for metric in self.metrics))

    def fitted(self) -> str:
        return "|".join(f"{name}[{source_of(metric)}]" for name, metric in self.parts().items() if source_of(metric))

    def stats(self, samples: Sequence[Sample]) -> Array:
        scores = np.array([metric.value(metric.stats(samples)) for metric in self.metrics])
        n = len(self.metrics)
        weights = np.array(self.weights or (1 / n,) * n)
        centred = scores - np.array(self.means or (0.0,) * n)[:, None]
        parts = centred * (weights / np.array(self.scales or (1.0,) * n))[:, None]
        return score_rows(parts.sum(axis=0), *parts)

    def parts(self) -> dict[str, Metric]:
        """Return the metrics with distinct names: repeated ones are numbered."""
        names = list(map(name_of, self.metrics))
        counts = Counter(names)
        for i, name in enumerate(names):
            if counts[name] > 1:
                names[i] = f"{name}_{i + 1}"
        return dict(zip(names, self.metrics, strict=True))

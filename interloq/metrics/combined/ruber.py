# SPDX-License-Identifier: Apache-2.0
"""RUBER, a blend of a referenced and an unreferenced metric (Tao et al., 2018).

s = blend(ŝ_R, ŝ_U), ŝ = (s − min S) / (max S − min S)

S are the scores of one part over the whole sample set. The blend is the arithmetic mean (default, as in Tsuta et al.,
2023), the geometric mean, the minimum or the maximum. Any two metrics may be blended; both should increase with
quality.

Tsuta et al. (2023) print the normalisation the wrong way round, (s − max S) / (min S − max S); ours is the version of
2018. If all scores of a part are equal, it has no information, and ŝ is .5. S consists of the samples that both parts
can score, so a sample without references does not affect the others. If samples seen after `fit` score outside the
range of S, they are clipped to [0, 1].
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from interloq.errors import InputError
from interloq.metrics.metric import Array, FittedMetric, Metric, mean_parts, score_rows
from interloq.needs import Needs
from interloq.records import Sample
from interloq.registry import field_value

Blend = Literal["arithmetic", "geometric", "min", "max"]
CHUNK = 4096  # samples that a part scores at a time: bounds memory, never changes a result


class CombinedMetric(Metric):
    """Base of metrics made of other metrics: a sample that one of them cannot score is unscored."""

    fits_scores: ClassVar[bool] = False  # whether `fit` needs the scores of its parts

    def parts(self) -> dict[str, Metric]:
        """Return the metrics that it is made of, by distinct names."""
        raise NotImplementedError

    def built_with(self) -> str:
        """Identify the tokenizers and models of all parts."""
        return identify_parts(self.parts())

    def unscorable(self, sample: Sample) -> str | None:
        for part in self.parts().values():
            if reason := part.unscorable(sample):
                return reason
        return None

    def details(self, total: Array) -> dict[str, float]:
        """Return what each part contributes to the score, as means over samples."""
        return mean_parts(total, *self.parts())


@dataclass(frozen=True)
class Ruber(CombinedMetric, name="ruber"):
    """Blend of a referenced and an unreferenced metric."""

    papers = ("tao-etal-2018-ruber",)
    fits_scores = True
    needs = Needs(
        fields={
            "referenced": "a metric with references, such as delta_bleu",
            "unreferenced": "a metric without references, such as ruber_unreferenced(model='FOLDER')",
        },
        extra="rater",
    )
    referenced: Annotated[Metric, "metric with references; `ruber_referenced` in the paper"] = field(
        metadata={"kind": "metric"}
    )
    unreferenced: Annotated[Metric, "metric without references; `ruber_unreferenced` in the paper"] = field(
        metadata={"kind": "metric"}
    )
    blend: Annotated[Blend, "how the two normalised scores are combined"] = "arithmetic"
    _fit: Fit | None = field(default=None, init=False, repr=False, compare=False)

    def fit(self, samples: Sequence[Sample]) -> Self:
        """Return a copy whose parts are fitted to these samples, with the range of each part's scores."""
        fitted = dataclasses.replace(
            self, referenced=fit_part(self.referenced, samples), unreferenced=fit_part(self.unreferenced, samples)
        )
        scored = [sample for sample in samples if fitted.unscorable(sample) is None]
        object.__setattr__(fitted, "_fit", Fit.of(scored, *fitted.parts().values()))
        return fitted

    def fitted(self) -> str:
        if self._fit is None:
            return ""
        sources = []
        for (name, part), (low, high) in zip(self.parts().items(), self._fit.ranges, strict=True):
            sources.append(f"{name}[{low!r}..{high!r}{source_of(part)}]")
        return ",".join(sources)

    def stats(self, samples: Sequence[Sample]) -> Array:
        if self._fit is None:
            raise InputError(
                "ruber is not fitted: the ranges of its parts are unknown", hint="call fit(samples), or use evaluate"
            )
        parts = self._fit.scale_scores(samples, *self.parts().values())
        return score_rows(BLENDS[self.blend](*parts), *parts)

    def parts(self) -> dict[str, Metric]:
        return {"referenced": self.referenced, "unreferenced": self.unreferenced}


@dataclass(frozen=True, eq=False)
class Fit:
    """Range of each part's scores, and the scores themselves, so that no sample is scored twice."""

    ranges: tuple[tuple[float, float], ...]
    known: dict[Sample, tuple[float, ...]]

    @classmethod
    def of(cls, samples: Sequence[Sample], *parts: Metric) -> Fit:
        """Return the range of each part's scores of these samples."""
        columns, ranges = [], []
        chunks = [samples[i : i + CHUNK] for i in range(0, len(samples), CHUNK)]
        for part in parts:
            scores = np.concatenate([np.zeros(0), *(part.value(part.stats(chunk)) for chunk in chunks)])
            columns.append(scores.tolist())
            low = high = np.nan
            if len(scores):
                low, high = float(scores.min()), float(scores.max())
            ranges.append((low, high))
        return cls(tuple(ranges), dict(zip(samples, zip(*columns, strict=True), strict=True)))

    def scale_scores(self, samples: Sequence[Sample], *parts: Metric) -> list[Array]:
        """Return each part's scores, scaled to 0 to 1."""
        if samples and np.isnan(self.ranges).any():
            raise InputError(
                "ruber was fitted to samples that its parts cannot both score", hint="fit it to other samples"
            )
        rows = score_parts(samples, parts, self.known)
        return [normalise(column, *bounds) for column, bounds in zip(rows.T, self.ranges, strict=True)]


def score_parts(samples: Sequence[Sample], parts: Sequence[Metric], known: Mapping[Sample, tuple[float, ...]]) -> Array:
    """Return the scores of all parts, one row per sample; samples with `known` scores are not scored again."""
    new = [sample for sample in dict.fromkeys(samples) if sample not in known]
    scores = {**known, **Fit.of(new, *parts).known}
    return np.array([scores[sample] for sample in samples], dtype=np.float64).reshape(len(samples), len(parts))


def normalise(scores: Array, low: float, high: float) -> Array:
    """Map [low, high] to [0, 1]; .5 if low equals high."""
    if low == high:
        return np.full_like(scores, 0.5)
    return np.clip((scores - low) / (high - low), 0, 1)


BLENDS: dict[Blend, Any] = {
    "arithmetic": lambda first, second: (first + second) / 2,
    "geometric": lambda first, second: np.sqrt(first * second),
    "min": np.minimum,
    "max": np.maximum,
}


def fit_part(part: Any, samples: Sequence[Sample]) -> Any:
    """Return a part of a metric, fitted to these samples if it is a fitted metric."""
    return part.fit(samples) if isinstance(part, FittedMetric) else part


def source_of(part: Any) -> str:
    """Identify what a part was fitted to, for a signature."""
    return f",{part.fitted()}" if isinstance(part, FittedMetric) else ""


def identify_part(part: Any) -> str:
    """Identify a part's tokenizer and model, for a signature."""
    known = []
    tokenizer = field_value(part, "tokenizer")
    if tokenizer is not None:
        known.append(tokenizer.signature())
    if built_with := part.built_with():
        known.append(built_with)
    return ",".join(known)


def identify_parts(parts: Mapping[str, Any]) -> str:
    """Identify the tokenizers and models of named parts, for a signature."""
    return ",".join(f"{name}[{identify_part(part)}]" for name, part in parts.items())

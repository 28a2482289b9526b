# SPDX-License-Identifier: Apache-2.0
"""Deep AM-FM, the mean of adequacy and fluency (Zhang et al., 2021).

score = ( n(AM) + n(FM) ) / 2,   n(x) = ( max(x, c) − c ) / |c|,   c = the 5 % quantile of the part over the sample set

The quantile is numpy's `linear` one, which is also the default of pandas: it interpolates between two scores. If c is
0, n(x) = max(x, 0), because division by 0 is undefined. If all scores of a part are equal, n is 0. The set consists of
the samples that both parts can score. The parts may be any two metrics, but both should increase with quality.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Self

import numpy as np

from interloq.errors import InputError
from interloq.metrics.combined.ruber import CombinedMetric, Fit, fit_part, score_parts, source_of
from interloq.metrics.metric import Array, Metric, score_rows
from interloq.needs import SENTENCE_ENCODER, Needs
from interloq.records import Sample

SHARE = 0.05


@dataclass(frozen=True)
class AmFm(CombinedMetric, name="am_fm"):
    """Mean of an adequacy metric and a fluency metric, each normalised over the sample set."""

    papers = ("zhang-etal-2021-deep",)
    fits_scores = True
    needs = Needs(
        fields={
            "am": f"an adequacy metric, such as deep_am(model='{SENTENCE_ENCODER}')",
            "fm": "a fluency metric, such as deep_fm(model='FOLDER')",
        },
        extra="ready|encoder",
    )
    am: Annotated[Metric, "metric of adequacy; `deep_am` in the paper"] = field(metadata={"kind": "metric"})
    fm: Annotated[Metric, "metric of fluency; `deep_fm` in the paper"] = field(metadata={"kind": "metric"})
    _fit: Quantiles | None = field(default=None, init=False, repr=False, compare=False)

    def fit(self, samples: Sequence[Sample]) -> Self:
        """Return a copy whose parts are fitted to these samples, with the quantile of each part's scores."""
        fitted = dataclasses.replace(self, am=fit_part(self.am, samples), fm=fit_part(self.fm, samples))
        scored = [sample for sample in samples if fitted.unscorable(sample) is None]
        object.__setattr__(fitted, "_fit", Quantiles.of(scored, *fitted.parts().values()))
        return fitted

    def fitted(self) -> str:
        if self._fit is None:
            return ""
        parts = zip(self.parts().items(), self._fit.cuts, strict=True)
        return ",".join(f"{name}[{cut:.5g}{source_of(part)}]" for (name, part), cut in parts)

    def stats(self, samples: Sequence[Sample]) -> Array:
        if self._fit is None:
            raise InputError(
                "am_fm is not fitted: the quantiles of its parts are unknown", hint="call fit(samples), or use evaluate"
            )
        parts = self._fit.scale_scores(samples, *self.parts().values())
        return score_rows(parts.mean(axis=1), parts)

    def parts(self) -> dict[str, Metric]:
        return {"am": self.am, "fm": self.fm}


@dataclass(frozen=True, eq=False)
class Quantiles:
    """The lower cut-off of each part's scores, and the scores themselves, so that no sample is scored twice."""

    cuts: tuple[float, ...]
    known: dict[Sample, tuple[float, ...]]

    @classmethod
    def of(cls, samples: Sequence[Sample], *parts: Metric) -> Quantiles:
        """Return the quantile of each part's scores of these samples."""
        known = Fit.of(samples, *parts).known
        columns = np.array(list(known.values()), dtype=np.float64).reshape(len(known), len(parts))
        if not len(columns):
            return cls((np.nan,) * len(parts), known)
        cuts = np.quantile(columns, SHARE, axis=0, method="linear")
        return cls(tuple(cuts.tolist()), known)

    def scale_scores(self, samples: Sequence[Sample], *parts: Metric) -> Array:
        """Return normalised scores, one column per part."""
        if samples and np.isnan(self.cuts).any():
            raise InputError(
                "am_fm was fitted to samples that its parts cannot both score", hint="fit it to other samples"
            )
        rows = score_parts(samples, parts, self.known)
        return np.column_stack(list(map(normalise, rows.T, self.cuts)))


def normalise(scores: Array, cut: float) -> Array:
    """Return scores above the cut-off in units of its absolute value; 0 for all others."""
    return np.asarray(np.maximum(scores - cut, 0) / (abs(cut) or 1.0))

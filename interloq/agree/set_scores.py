# SPDX-License-Identifier: Apache-2.0
"""Metrics whose value for a set is not the mean of its sample scores: corpus BLEU, NIST, chrF, distinct-n.

Score files contain sample scores, from which such a value cannot be computed. It is computed again from the samples,
after checking that their scores are those in the file; if that is not possible, the mean of sample scores is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError, InterloqError, SpecError
from interloq.metrics.metric import Array, FittedMetric, SetMetric
from interloq.records import Sample
from interloq.registry import create, field_value
from interloq.spec_text import split_label
from interloq.statistics.rounding import typical_size
from interloq.trust import side_effect

Counts = NDArray[np.int64]
COSTLY = ("model", "index", "vectors")  # fields of metrics that take too long to compute again
TOLERANCE = 1e-6  # relative difference allowed between a score and its recomputed value


@dataclass(frozen=True, slots=True, eq=False)
class SetColumn:
    """A metric's scores of samples, and its value for any set of them."""

    scores: Array  # of each sample; NaN if it has none
    value: Callable[[Counts, NDArray[np.intp]], Array]  # of each set; counts[b, i]: how often samples[i] is in set b
    resamples: bool = True  # whether a set may repeat samples
    sign: float = 1.0

    def __neg__(self) -> SetColumn:
        return replace(self, scores=-self.scores, sign=-self.sign)

    def of_sets(self, counts: Counts, samples: NDArray[np.intp]) -> Array:
        """Value of each set; NaN for an empty set."""
        found = np.full(len(counts), np.nan)
        some = counts.sum(axis=1) > 0
        found[some] = self.sign * self.value(counts[some], samples)
        return found


Column = Array | SetColumn


def scores_of(column: Column) -> Array:
    """The sample scores of a column."""
    return column.scores if isinstance(column, SetColumn) else column


def set_columns(columns: Mapping[str, Array], samples: Sequence[Sample]) -> tuple[dict[str, SetColumn], dict[str, str]]:
    """Columns of the metrics that define a value for a set, and the metrics that fall back to means, with the reason.

    `samples` are in the order of the columns.
    """
    found: dict[str, SetColumn] = {}
    means: dict[str, str] = {}
    for name, scores in columns.items():
        try:
            column = _column(create(split_label(name)[1], kind="metric"), scores, samples)
        except SpecError:
            means[name] = "the metric is not registered here"
        except InterloqError as error:
            means[name] = str(error)
        else:
            found |= {name: column} if column else {}
    return found, means


def _column(metric: Any, scores: Array, samples: Sequence[Sample]) -> SetColumn | None:
    """The metric's column, or None if its value for a set is the mean of its sample scores."""
    if metric.is_mean:
        return None
    if effect := side_effect(metric):  # the name comes from a score file
        raise InputError(f"computing it again is not done, because it {effect}")
    if any(field_value(metric, field) is not None for field in COSTLY):
        raise InputError("computing it again would need the metric's model")
    if isinstance(metric, FittedMetric):
        metric = metric.fit(samples)
    usable = np.array([metric.unscorable(sample) is None for sample in samples], dtype=bool)
    stats = metric.stats([sample for sample, good in zip(samples, usable, strict=True) if good])
    rows = np.full((len(samples), stats.shape[1]), np.nan)
    rows[usable] = stats
    scored = ~np.isnan(scores)
    again = np.full(len(samples), np.nan)
    again[usable] = metric.value(stats)
    if not np.allclose(again[scored], scores[scored], rtol=TOLERANCE, atol=TOLERANCE * typical_size(scores)):
        raise InputError("the samples, or the references dropped from them, are not those that were scored")
    if isinstance(metric, SetMetric):
        of_set = metric.value_of_set
        return SetColumn(scores, lambda counts, some: of_set([samples[i] for i in some], [counts]), resamples=False)
    return SetColumn(scores, lambda counts, some: metric.value(counts @ rows[some]))

# SPDX-License-Identifier: Apache-2.0
"""Scores as columns: one number per sample for every metric, in the order of the judgments.

For some metrics, the value of a set is not the mean of its sample scores: corpus BLEU, NIST, chrF, distinct-n. Score
files contain sample scores, from which such a value cannot be computed. It is computed again from the samples, after
checking that their scores are the same as in the file; if that is not possible, the mean of sample scores is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.agree.judgments import Judgments
from interloq.errors import InputError, InterloqError, SpecError
from interloq.metrics.metric import Array, FittedMetric, SetMetric
from interloq.records import Key, Sample, SampleKeys, Score, format_key
from interloq.registry import create, field_value
from interloq.score.selection import SampleFilter
from interloq.signature import fingerprint
from interloq.spec_text import split_label
from interloq.statistics.rounding import typical_size
from interloq.trust import side_effect

Counts = NDArray[np.int64]
COSTLY = ("model", "index", "vectors")  # fields of metrics that take too long to compute again
TOLERANCE = 1e-6  # relative difference allowed between a score and its recomputed value
LEAST, LARGEST = 1e-100, 1e100  # range in which sums of squares neither underflow nor overflow


def score_columns(
    scores: Iterable[Score], judgments: Judgments, selection: SampleFilter
) -> tuple[dict[str, Array], list[str]]:
    """Return one column of scores per metric, sorted by name; and notes on scores that belong to no sample."""
    place, known = {key: i for i, key in enumerate(judgments.keys)}, SampleKeys(judgments.keys)
    columns: dict[str, Array] = {}
    given: dict[str, set[int]] = {}
    stray: dict[str, list[Key]] = {}
    for score in scores:
        column = columns.setdefault(score.metric, np.full(len(place), np.nan))
        key = known.find(score.id, score.system)
        if key is None and selection.excludes(score):
            continue
        if key is None:
            stray.setdefault(score.metric, []).append(score.key)
            continue
        i = place[key]
        value = float("nan") if score.value is None else float(score.value)
        if math.isinf(value):
            raise InputError(
                f"{score.metric} scored sample {format_key(score.key)} {value}",
                hint="leave such a sample unscored (null)",
            )
        seen = given.setdefault(score.metric, set())
        if i in seen and not equal(column[i], value):
            raise InputError(
                f"{score.metric} scored sample {format_key(key)} twice: {column[i]:g} and {value:g}",
                hint="give each metric's scores once",
            )
        seen.add(i)
        column[i] = value
    _check_ids(columns, stray, judgments)
    notes = []
    for name, keys in sorted(stray.items()):
        example = format_key(min(keys))
        notes.append(f"{name}: scores without a sample, not used: {len(keys)}, for example {example}")
    return {name: _rescale(columns[name]) for name in sorted(columns)}, notes


def columns_fingerprint(columns: Mapping[str, Array]) -> str:
    """Return the fingerprint of the scores of all metrics."""
    parts: list[str | bytes] = []
    for name, column in columns.items():
        parts += (name, column.tobytes())
    return fingerprint(*parts)


def _rescale(column: Array) -> Array:
    """Scale the column by a power of two if squares of its scores would overflow or underflow."""
    largest = float(np.nanmax(np.abs(column), initial=0.0))
    if largest == 0 or LEAST <= largest <= LARGEST:
        return column
    return np.asarray(np.ldexp(column, -math.frexp(largest)[1]))


def equal(first: float, second: float) -> bool:
    """Return whether two scores are equal, or both missing."""
    return first == second or (math.isnan(first) and math.isnan(second))


def _check_ids(columns: Mapping[str, Array], stray: Mapping[str, Sequence[Key]], judgments: Judgments) -> None:
    if not columns:
        raise InputError("no scores", hint="make some: interloq score SAMPLES -m METRIC -o scores.jsonl")
    if stray and all(np.isnan(column).all() for column in columns.values()):
        seen, known = min(keys[0] for keys in stray.values()), judgments.keys[0]
        raise InputError(
            f"no score belongs to a sample: score 1 is of {format_key(seen)}, sample 1 is {format_key(known)}",
            hint="give the samples that were scored",
        )


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
        """Return the value of each set; NaN for an empty set."""
        values = np.full(len(counts), np.nan)
        some = counts.sum(axis=1) > 0
        values[some] = self.sign * self.value(counts[some], samples)
        return values


Column = Array | SetColumn


def scores_of(column: Column) -> Array:
    """Return the sample scores of a column."""
    return column.scores if isinstance(column, SetColumn) else column


def set_columns(columns: Mapping[str, Array], samples: Sequence[Sample]) -> tuple[dict[str, SetColumn], dict[str, str]]:
    """Return columns of the metrics that define a value for a set, and why other metrics fall back to means.

    `samples` are in the order of the columns.
    """
    of_sets: dict[str, SetColumn] = {}
    means: dict[str, str] = {}
    for name, scores in columns.items():
        try:
            column = _column(create(split_label(name)[1], kind="metric"), scores, samples)
        except SpecError:
            means[name] = "the metric is not registered here"
        except InterloqError as error:
            means[name] = str(error)
        else:
            if column:
                of_sets[name] = column
    return of_sets, means


def _column(metric: Any, scores: Array, samples: Sequence[Sample]) -> SetColumn | None:
    """Return the metric's column, or None if its value for a set is the mean of its sample scores."""
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

# SPDX-License-Identifier: Apache-2.0
"""Results of meta-evaluation as plain values, ready for a table, JSON or the report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from interloq.errors import count
from interloq.metrics.metric import Direction
from interloq.metrics.metric_names import labels
from interloq.signature import Signature
from interloq.statistics.estimate import COEFFICIENTS, Estimate
from interloq.tabular import Row, Tabular, bounds

By = Literal["none", "system", "sample", "user"]
SystemScore = Literal["value", "mean"]
UnitKind = Literal["sample", "dialogue"]


@dataclass(frozen=True, slots=True)
class Slope:
    """Change of a metric's score per unit of the mean judgment, over samples. Gates convert margins with it."""

    value: float
    n: int
    ci: tuple[float, float] | None
    error: float  # standard error, over contexts
    freedom: float  # its degrees of freedom


@dataclass(frozen=True, slots=True)
class Spread:
    """A coefficient against each single annotator: the best, the worst and the mean."""

    max: float
    min: float
    mean: float
    annotators: int  # annotators, or pairs of annotators, for which it is defined


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric against people."""

    metric: str
    with_mean: Mapping[str, Estimate]  # coefficient → correlation with the mean judgment
    with_annotators: Mapping[str, Spread]  # coefficient → over single annotators; empty if there are none
    unscored: int = 0
    system_score: SystemScore | None = None  # by system: the metric's value over its samples, or their mean score
    direction: Direction = "higher"  # which score is better
    slope: Slope | None = None  # None if fewer than 10 rated samples have a score, or all have one rating
    # over samples, of three or more systems: coefficient → correlation of their mean scores with their mean judgments
    over_systems: Mapping[str, Estimate] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserSplit:
    """One metric's correlation with the mean judgment, between users and within them; all by coefficient."""

    metric: str
    overall: Mapping[str, Estimate]  # over samples; the interval is from resamples of users
    between: Mapping[str, Estimate]  # over users: mean score and mean judgment of each
    within: Mapping[str, Estimate]  # over samples: deviations from the user's mean score and mean judgment
    averaged: Mapping[str, Estimate]  # mean of each user's own coefficient

    def users(self, coefficient: str) -> str:
        """Return the number of users, and of users in the average if it has fewer."""
        everyone, averaged = self.between[coefficient].n, self.averaged[coefficient].n
        if averaged == everyone:
            return f"{everyone:,}"
        return f"{everyone:,} ({averaged:,} averaged)"


@dataclass(frozen=True, slots=True)
class HumanRow:
    """Agreement between people: the standard to compare metrics with."""

    pairwise: Mapping[str, Spread]  # coefficient → annotator against annotator
    with_others: Mapping[str, Spread]  # coefficient → annotator against the mean of the others
    split_half: Mapping[str, Estimate]  # coefficient → mean of one half of the judgments against the other's
    alpha: Estimate  # Krippendorff's α, interval level
    alpha_ordinal: Estimate
    ceiling: Mapping[str, Estimate] = field(default_factory=dict)  # expected coefficient of a perfect metric


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """Test of whether the first metric's coefficient is higher than the second's."""

    first: str
    second: str
    coefficient: str
    difference: float
    n: int
    williams_p: float | None
    permutation_p: float | None
    permutation_p_adjusted: float | None = None


@dataclass(frozen=True, slots=True)
class Counted:
    """Numbers of samples and judgments that were used and that were not."""

    samples: int
    rated: int  # samples with at least one usable judgment
    judgments: int
    not_applicable: int
    annotators: int
    partial_annotators: int  # annotators who rated only some of the rated samples
    unrated: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class MetaTable(Tabular):
    """How well each metric agrees with people, and people with each other."""

    aspect: str
    by: By
    rows: tuple[MetricRow, ...]
    human: HumanRow | None
    comparisons: tuple[MetricComparison, ...]
    counted: Counted
    signature: Signature
    notes: tuple[str, ...] = field(default=())
    users: tuple[UserSplit, ...] = ()  # if people in the dialogues rated the samples
    judges: Mapping[str, Signature] = field(default_factory=dict)  # metric → signature, if score files have it
    unit: UnitKind = "sample"  # what people rated

    @property
    def coefficients(self) -> tuple[str, ...]:
        """Names of the coefficients in the table: the built-in ones, or those it was computed with."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.with_mean)) or COEFFICIENTS

    def _title(self) -> str:
        """Return the title of the table."""
        rated = count(self.counted.rated, f"rated {self.unit}")
        return f"correlation with {self.aspect!r} by people, by={self.by!r}, {rated}"

    def _table_rows(self) -> list[Row]:
        """Return one row per metric and coefficient."""
        rows: list[Row] = []
        for row in self.rows:
            for name, estimate in row.with_mean.items():
                value: Row = {"metric": row.metric, "coefficient": name, "value": estimate.value, **bounds(estimate.ci)}
                tests: Row = {"p": estimate.p, "p_adjusted": estimate.p_adjusted, "n": estimate.n}
                rows.append({**value, **tests, "note": estimate.note})
        return rows

    def sort_by(self, coefficient: str) -> MetaTable:
        """Return the table with metrics in the order of agreement, best first; the sign counts as in comparisons."""
        return replace(self, rows=tuple(sorted(self.rows, key=lambda row: _disagreement(row, coefficient))))

    def with_labels(self) -> MetaTable:
        """Return the table with metrics under their labels, for display."""
        label_of = labels([row.metric for row in self.rows])
        notes = []
        for note in self.notes:
            for metric, label in label_of.items():
                note = note.replace(metric, label)
            notes.append(note)
        return replace(
            self,
            rows=tuple(replace(row, metric=label_of[row.metric]) for row in self.rows),
            users=tuple(replace(split, metric=label_of[split.metric]) for split in self.users),
            comparisons=tuple(replace(c, first=label_of[c.first], second=label_of[c.second]) for c in self.comparisons),
            notes=tuple(notes),
        )


def _disagreement(row: MetricRow, coefficient: str) -> float:
    """Return the sort key of a metric, lowest for the best; metrics without a coefficient come last."""
    value = row.with_mean[coefficient].value if coefficient in row.with_mean else math.nan
    if math.isnan(value):
        return math.inf
    if row.direction == "lower":
        return value
    return -value

"""What meta-evaluation says: plain values, ready for a table, JSON or the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Literal

from interloq.metrics.metric_names import labels
from interloq.signature import Signature
from interloq.tabular import Row, Tabular, bounds

COEFFICIENTS = ("pearson", "spearman", "kendall")
By = Literal["none", "system", "sample"]
SystemScore = Literal["value", "mean"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its uncertainty; NaN where it is undefined, with the reason in `note`."""

    value: float
    n: int  # points it was computed from (samples, systems, or groups averaged over)
    ci: tuple[float, float] | None = None
    p: float | None = None
    p_adjusted: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Spread:
    """A coefficient against each single annotator: the best, the worst and the mean."""

    max: float
    min: float
    mean: float
    annotators: int  # annotators, or pairs of them, it could be computed for


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric against people."""

    metric: str
    with_mean: Mapping[str, Estimate]  # coefficient → with the mean judgment
    with_annotators: Mapping[str, Spread]  # coefficient → over single annotators; empty where there are none
    unscored: int = 0
    system_score: SystemScore | None = None  # by system: the metric's value of its samples, or the mean of their scores


@dataclass(frozen=True, slots=True)
class HumanRow:
    """People against people: the mark to measure metrics by."""

    pairwise: Mapping[str, Spread]  # coefficient → annotator against annotator
    with_others: Mapping[str, Spread]  # coefficient → annotator against the mean of the others
    split_half: Mapping[str, Estimate]  # coefficient → mean of one half of the judgments against the other's
    alpha: Estimate  # Krippendorff's α, interval level
    alpha_ordinal: Estimate


@dataclass(frozen=True, slots=True)
class Comparison:
    """Is the first metric's coefficient really higher than the second's?"""

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
    """What went into the table and what could not."""

    samples: int
    rated: int  # samples with at least one usable judgment
    judgments: int
    not_applicable: int
    annotators: int
    partial_annotators: int  # who rated only some of the rated samples
    unrated: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class MetaTable(Tabular):
    """How far each metric agrees with people, beside how far people agree with each other."""

    aspect: str
    by: By
    rows: tuple[MetricRow, ...]
    human: HumanRow | None
    comparisons: tuple[Comparison, ...]
    counted: Counted
    signature: Signature
    notes: tuple[str, ...] = field(default=())

    def _title(self) -> str:
        """What was correlated, and over what."""
        return f"correlation with {self.aspect!r} by people, by={self.by!r}, {self.counted.rated} rated samples"

    def _shown_rows(self) -> list[Row]:
        """One row per metric and coefficient."""
        return [
            {
                "metric": row.metric,
                "coefficient": name,
                "value": found.value,
                **bounds(found.ci),
                "p": found.p,
                "p_adjusted": found.p_adjusted,
                "n": found.n,
                "note": found.note,
            }
            for row in self.rows
            for name, found in row.with_mean.items()
        ]

    def _remarks(self) -> tuple[str, ...]:
        """The notes."""
        return self.notes

    def labelled(self) -> MetaTable:
        """The table for readers: metrics under their labels."""
        shown = labels([row.metric for row in self.rows])
        return replace(
            self,
            rows=tuple(replace(row, metric=shown[row.metric]) for row in self.rows),
            comparisons=tuple(replace(c, first=shown[c.first], second=shown[c.second]) for c in self.comparisons),
            notes=tuple(reduce(lambda note, metric: note.replace(metric, shown[metric]), shown, n) for n in self.notes),
        )

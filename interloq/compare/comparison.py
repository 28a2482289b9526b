# SPDX-License-Identifier: Apache-2.0
"""Comparisons of two versions of a system as plain values, ready for a table or JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from interloq.agree.table import UnitKind
from interloq.metrics.metric import Direction
from interloq.signature import Signature
from interloq.statistics.estimate import Estimate
from interloq.tabular import Row, Tabular, bounds

Pairing = Literal["occasion", "id", "context", "none"]
Which = Literal["old", "new", "difference"]
NOT_SHOWN = "not shown"  # the verdict if the data show no difference; the versions need not be equal
FEW = 10  # independent units below which intervals and tests are rough


@dataclass(frozen=True, slots=True)
class Change:
    """How one metric changed between the versions, over all units or one slice."""

    metric: str
    direction: Direction  # which score is better
    slice: str  # "topic: food"; empty for all units
    old: Estimate
    new: Estimate
    difference: float  # new minus old
    ci: tuple[float, float] | None
    p: float | None
    p_adjusted: float | None
    detectable: float  # smallest true difference that a set of this size finds with a probability of 80 %
    clusters: int  # dialogues, or samples if they are independent
    error: float  # standard error of the difference
    freedom: float  # its degrees of freedom
    constant: float | None = None  # the score, if all units of both versions have the same
    exploratory: bool = False  # a slice that nobody named in advance: to be confirmed on new data
    assumed: bool = False  # whether clusters are runs of neighbours, because nothing tells the dialogues

    @property
    def verdict(self) -> str:
        """Return `better`, `worse` or `changed` if the adjusted p-value is below .05, otherwise `not shown`.

        For a gate, only a change that is `worse` here can be a regression.
        """
        if self.p_adjusted is None or self.p_adjusted >= 0.05:
            return NOT_SHOWN
        if self.direction == "neither":
            return "changed"
        return "better" if (self.difference > 0) == (self.direction == "higher") else "worse"


@dataclass(frozen=True, slots=True)
class HumanMean:
    """Mean human rating of a version, or the difference: from labels alone, or from labels and a metric's scores."""

    which: Which
    metric: str  # empty: labels alone
    value: float
    ci: tuple[float, float] | None
    labels: int
    scored: int  # units with a score, labelled or not
    weight: float | None = None  # weight of the scores: λ of PPI++; None for labels alone and differences
    detectable: float = math.nan  # smallest true difference found with a probability of 80 %; only for differences
    error: float = math.nan  # standard error; only for differences
    freedom: float = 0  # its degrees of freedom
    selected: bool = False  # labelled units score differently from the others; only for differences


@dataclass(frozen=True, slots=True)
class Worse:
    """A unit that got worse, for people to read."""

    id: str  # in the new file
    metric: str
    old: float
    new: float
    prompt: str
    old_text: str
    new_text: str


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Tabular):
    """Differences between an old and a new version, metric by metric and slice by slice."""

    old: str
    new: str
    unit: UnitKind
    pairing: Pairing
    changes: tuple[Change, ...]  # by metric: all units first, then slices
    people: tuple[HumanMean, ...]  # empty if there are no ratings
    worse: tuple[Worse, ...]  # the largest losses by the first metric for which higher or lower is better
    unscored: Mapping[str, Mapping[str, int]]  # metric → old, new → units without a score
    notes: tuple[str, ...]
    signature: Signature
    unpaired: Mapping[str, int] = field(default_factory=dict)  # old, new → units without a partner, not used
    same_replies: bool = False  # both versions have the same replies, as if one were compared with itself

    def overall(self) -> tuple[Change, ...]:
        """Return changes over all units."""
        return tuple(change for change in self.changes if not change.slice)

    def facts(self) -> dict[str, Any]:
        """Return all values, as in JSON."""
        changes = [{**asdict(change), "verdict": change.verdict} for change in self.changes]
        return {**asdict(self), "changes": changes}

    def _title(self) -> str:
        """Return the line that names the two versions."""
        return f"{self.old} → {self.new}"

    def _table_rows(self) -> list[Row]:
        """Return one row per metric and slice."""
        rows: list[Row] = []
        for change in self.changes:
            row = {
                "metric": change.metric,
                "slice": change.slice,
                "old": change.old.value,
                "new": change.new.value,
                "difference": change.difference,
                **bounds(change.ci),
                "p_adjusted": change.p_adjusted,
                "verdict": change.verdict,
                "detectable": change.detectable,
                "n": change.new.n,
            }
            rows.append(row)
        return rows

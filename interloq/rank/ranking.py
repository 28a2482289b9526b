# SPDX-License-Identifier: Apache-2.0
"""Rankings as plain values, ready for a table, JSON or the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from interloq.agree.dialogue_scores import Pairing
from interloq.errors import count
from interloq.rank.survival import Survival
from interloq.signature import Signature
from interloq.statistics.estimate import Estimate
from interloq.statistics.permutation import LEVEL
from interloq.tabular import Row, Tabular, bounds

Method = Literal["mean", "bradley-terry"]
Unit = Literal["dialogue", "partner"]


def format_range(ranks: tuple[int, int] | None) -> str:
    """A range of ranks, such as 2–4 or 3; empty if there is none."""
    if ranks is None:
        return ""
    low, high = ranks
    return str(low) if low == high else f"{low}–{high}"


@dataclass(frozen=True, slots=True)
class Standing:
    """Rank of one system; None if it has no score."""

    system: str
    score: float
    ci: tuple[float, float] | None
    rank: int | None
    rank_range: tuple[int, int] | None  # the ranges of all systems hold together with a probability of `range_level`
    best: float | None  # share of resamples in which it ranks first; ties share
    dialogues: int  # scored ones
    utterances: int
    unscored: int
    reasons: Mapping[str, int]  # why dialogues have no score
    failures: Mapping[str, int]  # what went wrong in dialogues, scored or not


@dataclass(frozen=True, slots=True)
class Difference:
    """Test of whether the first system is better than the second."""

    first: str
    second: str
    difference: float  # of their scores: positive if the first has the higher one
    ci: tuple[float, float] | None
    p: float | None
    p_adjusted: float | None
    n: int  # dialogues of both; the difference, its interval and its p-value all come from these
    units: int  # independent ones: occasions, dialogues or partners
    shared: int  # units with dialogues of both systems, which pair them


@dataclass(frozen=True, slots=True, repr=False)
class Ranking(Tabular):
    """Ranks of all systems with their uncertainty, and tests of the differences."""

    metric: str
    method: Method
    by: Unit
    pairing: Pairing | Literal["mixed", "dialogue"]  # how systems are paired; dialogue: within dialogues of both
    lower_is_better: bool
    standings: tuple[Standing, ...]  # best first
    differences: tuple[Difference, ...]  # all pairs of ranked systems, the better system first
    human: Mapping[str, Estimate]  # coefficient → correlation with people's scores; empty if none were given
    notes: tuple[str, ...]
    signature: Signature
    survival: tuple[Survival, ...] = ()  # curves of the systems, by name, if they were asked for
    unit: str = "occasion"  # what counts as independent: occasion, dialogue or partner
    range_level: float = LEVEL
    order: Estimate | None = None  # share of pairs of systems that the metric orders as people do

    def _title(self) -> str:
        """What the systems are ranked by."""
        return f"{count(len(self.standings), 'system')} ranked by {self.metric}, method {self.method}"

    def _shown_rows(self) -> list[Row]:
        """Return one row per system, the best first."""
        return [
            {
                "system": standing.system,
                "rank": standing.rank,
                "rank_from": standing.rank_range and standing.rank_range[0],
                "rank_to": standing.rank_range and standing.rank_range[1],
                "score": standing.score,
                **bounds(standing.ci),
                "best": standing.best,
                "dialogues": standing.dialogues,
                "unscored": standing.unscored,
            }
            for standing in self.standings
        ]

    def _remarks(self) -> tuple[str, ...]:
        """Return the notes."""
        return self.notes

"""What a ranking says: plain values, ready for a table, JSON or the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from interloq.meta.dialogue_scores import Pairing
from interloq.meta.table import Estimate
from interloq.signature import Signature
from interloq.tabular import Row, Tabular, bounds

Method = Literal["mean", "bradley-terry"]
Unit = Literal["dialogue", "partner"]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one system stands; no rank where it has no score."""

    system: str
    score: float
    ci: tuple[float, float] | None
    rank: int | None
    rank_range: tuple[int, int] | None
    best: float | None  # the share of resamples in which it came first; ties share
    dialogues: int  # scored ones
    utterances: int
    unscored: int
    reasons: Mapping[str, int]  # why dialogues have no score
    failures: Mapping[str, int]  # what went wrong in dialogues, scored or not


@dataclass(frozen=True, slots=True)
class Difference:
    """Is the first system really better than the second?"""

    first: str
    second: str
    difference: float  # of their scores: positive where the first has the higher one
    ci: tuple[float, float] | None
    p: float | None
    p_adjusted: float | None
    n: int  # shared occasions it was tested over; dialogues of both where they share none
    paired: bool


@dataclass(frozen=True, slots=True, repr=False)
class Ranking(Tabular):
    """Where every system stands, how sure that is, and which differences are real."""

    metric: str
    method: Method
    by: Unit
    pairing: Pairing | Literal["mixed"]  # how dialogues of different systems are known to belong together
    lower_is_better: bool
    standings: tuple[Standing, ...]  # best first
    differences: tuple[Difference, ...]  # every two ranked systems, the better first
    human: Mapping[str, Estimate]  # coefficient → with the ranking by people; empty where none was given
    notes: tuple[str, ...]
    signature: Signature

    def _title(self) -> str:
        """What the systems are ranked by."""
        return f"{len(self.standings)} systems ranked by {self.metric}, method {self.method}"

    def _shown_rows(self) -> list[Row]:
        """One row per system, the best first."""
        return [
            {
                "system": found.system,
                "rank": found.rank,
                "rank_from": found.rank_range and found.rank_range[0],
                "rank_to": found.rank_range and found.rank_range[1],
                "score": found.score,
                **bounds(found.ci),
                "best": found.best,
                "dialogues": found.dialogues,
                "unscored": found.unscored,
            }
            for found in self.standings
        ]

    def _remarks(self) -> tuple[str, ...]:
        """The notes."""
        return self.notes

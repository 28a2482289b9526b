# SPDX-License-Identifier: Apache-2.0
"""Options of `compare` and `gate`: how two versions are read, scored and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from interloq.compare.version_units import Ratings
from interloq.data.records.raters import Normalise
from interloq.errors import InputError
from interloq.trust import Trust

BESIDE = ("length",)  # compared beside a judge's preferences if no metric is named: judges favour long replies
WORST = 5
Slices = Literal["shown", "no-regression", "pass"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """Options that `compare_file` and `gate_file` share."""

    metrics: Sequence[str] = ()  # to score samples and dialogues with, or to choose from score files
    trust: Trust = None  # allow metrics FILE.py:NAME, and those in files that do more than compute; see `choose`
    judge: str = ""  # spec of an LLM judge, whose preferences between paired replies are added as a metric
    samples: Sequence[str | Path] = ()  # with score files: the scored samples, in one file or one per version
    old_system: str = ""  # system to choose from the old file
    new_system: str = ""
    aspect: str = ""  # rated quality; empty: `overall`, if there are ratings of it
    role: str = ""  # use only ratings by people in this role
    normalise: Normalise = ""  # put each rater's ratings on a common scale: their z-scores or ranks
    shared_references: bool = False  # score paired samples with the references that both versions have
    slice_by: Sequence[str] | None = None  # fields to slice by; None: all that are known; empty: no slices
    lower_is_better: bool | None = None  # of metrics that do not define it themselves
    n_permutations: int | None = None  # per test; None: 1000, or 100 per test if that is more
    seed: int = 0
    worst: int = WORST  # how many units that got worse to list
    columns: Mapping[str, str] | None = None  # names of fields, as in `interloq.read`

    def __post_init__(self) -> None:
        if self.judge and self.lower_is_better is not None:
            raise InputError("a direction would also apply to the judge's preferences", hint="omit it")

    @property
    def ratings(self) -> Ratings:
        """The ratings to use."""
        return Ratings(self.aspect, self.role, self.normalise)

    @property
    def scoring_metrics(self) -> Sequence[str]:
        """Metrics to score samples and dialogues with."""
        return self.metrics or (BESIDE if self.judge else ())

    @property
    def slices_planned(self) -> bool:
        """Whether the slices were chosen in advance; otherwise what they show is exploratory."""
        return self.slice_by is not None

    def system(self, side: str) -> str:
        """System to choose from the file of the old or the new version; empty: its only one."""
        return self.old_system if side == "old" else self.new_system


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions(CompareOptions):
    """Options of `gate_file`."""

    rated: str | Path | None = None  # rated samples: the margin is in their ratings
    rated_scores: str | Path | None = None  # scores of the rated samples; None: they are scored by the gate
    meta: str | Path | None = None  # stored JSON of `interloq meta`: the margin is in the ratings it is about
    by_ratings: bool = False  # gate on the mean human rating, estimated from the ratings in both files
    repeat: Sequence[str | Path] = ()  # further runs of the new version on the same prompts
    slices: Slices = "shown"  # whether slices are gated: "no-regression" allows none to regress, "pass" requires passes
    allow_constant: bool = False  # let a metric pass that gives all units the same score
    allow_unpaired: bool = False  # gate test sets that differ; units without a partner are not used

    @property
    def slices_planned(self) -> bool:
        """Whether the slices were chosen in advance: by name, or by gating them."""
        return self.slice_by is not None or self.slices != "shown"


COMPARE_DEFAULTS, GATE_DEFAULTS = CompareOptions(), GateOptions()

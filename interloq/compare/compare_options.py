# SPDX-License-Identifier: Apache-2.0
"""Options of `compare` and `gate`: how two versions are read, scored and compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from interloq.data.records.raters import Normalise
from interloq.errors import InputError
from interloq.options import direction_option, normalise_option, option, permutations_option, trust_option
from interloq.trust import Trust

BESIDE = ("length",)  # compared beside a judge's preferences if no metric is named: judges favour long replies
WORST = 5
Slices = Literal["shown", "no-regression", "pass"]


@dataclass(frozen=True, slots=True)
class Ratings:
    """Whose ratings of what are averaged."""

    aspect: str = ""  # empty: `overall`, if there are ratings of it
    role: str = ""
    normalise: Normalise = ""  # put each rater's ratings on a common scale


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """Options that `compare_file` and `gate_file` share."""

    metrics: Sequence[str] = option(
        (),
        "a metric to score samples or dialogues with, or to choose from score files",
        short="-m",
        flag="--metric",
        metavar="[LABEL=]SPEC",
        shown="judge(model='ready'), for dialogues with aspect='dialogue'; all metrics of score files",
    )
    judge: str = option("", "llm_judge(…) that compares paired replies, in both orders", metavar="SPEC")
    trust: Trust = trust_option()
    samples: Sequence[str | Path] = option(
        (),
        "with score files: the scored samples, for ratings, slices and texts; one file, or one per version",
        path=True,
        metavar="FILE",
    )
    old_system: str = option("", "system of the old file", metavar="NAME")
    new_system: str = option("", "system of the new file", metavar="NAME")
    shared_references: bool = option(
        False, "score samples with the references that both versions have, if these differ"
    )
    aspect: str = option("", "rated quality (default overall)", metavar="NAME")
    role: str = option("", "only ratings by people in this role", metavar="NAME")
    normalise: Normalise = normalise_option()
    slice_by: Sequence[str] | None = option(
        None,
        "field to slice by; repeatable (default: topic, language, partner and length, as far as known)",
        flag="--slice",
        metavar="FIELD",
        instead={"--no-slices": ((), "compare only whole sets")},
    )
    lower_is_better: bool | None = direction_option()
    n_permutations: int | None = permutations_option("test")
    seed: int = option(0, "seed of the permutations")
    worst: int = option(WORST, "units that got worse to print")

    def __post_init__(self) -> None:
        if self.judge and self.lower_is_better is not None:
            raise InputError("a direction would also apply to the judge's preferences", hint="omit it")

    @property
    def ratings(self) -> Ratings:
        """Return which ratings to use."""
        return Ratings(self.aspect, self.role, self.normalise)

    @property
    def scoring_metrics(self) -> Sequence[str]:
        """Return the metrics to score samples and dialogues with."""
        if self.judge and not self.metrics:
            return BESIDE
        return self.metrics

    @property
    def slices_planned(self) -> bool:
        """Return whether the slices were chosen in advance; otherwise what they show is exploratory."""
        return self.slice_by is not None

    def system(self, side: str) -> str:
        """Return the system to choose from the file of the old or the new version; empty: its only one."""
        return self.old_system if side == "old" else self.new_system


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions(CompareOptions):
    """Options of `gate_file`."""

    rated: str | Path | None = option(
        None,
        "rated samples; the margin is in their ratings, converted by the slope of scores on ratings",
        path=True,
        metavar="FILE",
    )
    rated_scores: str | Path | None = option(
        None, "scores of the rated samples (default: scored here)", path=True, metavar="FILE"
    )
    meta: str | Path | None = option(
        None,
        "stored JSON of interloq meta instead: its slope of scores on ratings converts the margin",
        path=True,
        metavar="FILE",
    )
    by_ratings: bool = option(
        False, "gate on the mean human rating, estimated from the ratings in both files and the metric's scores"
    )
    repeat: Sequence[str | Path] = option(
        (),
        "another run of NEW on the same prompts: scores are averaged, noise is split between bot and judge",
        path=True,
        metavar="FILE",
    )
    slices: Slices = option(
        "shown",
        "gate slices too: none may be a regression, or all must pass (default shown: not gated)",
        shown="",
    )
    allow_constant: bool = option(
        False, "let a metric pass that gives all replies the same score, such as a safety check"
    )
    allow_unpaired: bool = option(
        False, "gate test sets that differ, without the samples or dialogues that only one version has"
    )

    @property
    def slices_planned(self) -> bool:
        """Return whether the slices were chosen in advance: by name, or by gating them."""
        return self.slice_by is not None or self.slices != "shown"


COMPARE_DEFAULTS, GATE_DEFAULTS = CompareOptions(), GateOptions()

# SPDX-License-Identifier: Apache-2.0
"""Options of `rank_file` and `interloq rank`; they import nothing that computes, so that the help is fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from interloq.options import direction_option, option, permutations_option


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOptions:
    """What systems are ranked by, and how."""

    dialogues: Sequence[str | Path] = option((), "the dialogues that were scored", path=True, metavar="FILE")
    metric: str = option(
        "",
        "rank only by this metric or label; if SCORES are dialogues, score them with it",
        short="-m",
        metavar="SPEC",
        shown="by each metric for which higher or lower is better; dialogues: judge(model='ready',aspect='dialogue')",
    )
    against: str | Path | None = option(
        None,
        "rank the systems of these dialogues among the reference systems of a partner set, such as en-v1",
        metavar="SET",
    )
    method: Literal["mean", "bradley-terry"] = option(
        "mean", "mean over dialogues, or strength from wins on shared occasions"
    )
    by: Literal["dialogue", "partner"] = option(
        "dialogue", "unit of resampling: dialogues, or partners with all their dialogues"
    )
    pair_by: Literal["occasion", "opening", "none"] | None = option(
        None,
        "how dialogues of two systems are paired: by occasion, by their given turns, or not at all",
        shown="the first that is possible",
    )
    lower_is_better: bool | None = direction_option()
    human: str | Path | None = option(
        None, "JSON or CSV with people's score per system, to measure agreement with", path=True, metavar="FILE"
    )
    survival: bool = option(
        False,
        "scores are probabilities of a reply (e.g. dcp): also print how long people would stay with each system",
    )
    convergence: bool = option(
        False, "also print how well two rankings agree that are made from different dialogues, by their number"
    )
    aspect: str | None = option(
        None,
        "SCORES are samples or dialogues: rank by people's mean rating of this aspect, e.g. overall or continued",
        metavar="NAME",
    )
    role: str = option("", "with --aspect: only ratings by this role", metavar="NAME", shown="all roles")
    n_bootstrap: int = option(1000, "resamples for intervals and ranges", flag="--bootstrap")
    n_permutations: int | None = permutations_option("pair of systems")
    seed: int = option(0, "seed of resamples and permutations")


RANK_DEFAULTS = RankOptions()

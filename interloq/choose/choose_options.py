# SPDX-License-Identifier: Apache-2.0
"""Options of `choose_file` and `interloq choose`; they import nothing that computes, so that the help is fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from interloq.options import (
    drop_own_replies_option,
    normalise_option,
    option,
    permutations_option,
    without_system_option,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooseOptions:
    """The metrics to choose from, the ratings to agree with, and how agreement is computed."""

    metrics: Sequence[str] = option(
        (),
        "a metric to choose from (default: all the data allow)",
        flag="--metric",
        short="-m",
        metavar="[LABEL=]SPEC",
    )
    scores: Sequence[str | Path] = option(
        (), "choose from the metrics of this score file too, without computing them again", path=True, metavar="FILE"
    )
    aspect: str = option("", "the rated aspect (default overall, or the only one that is rated)", metavar="NAME")
    role: str = option("", "use only ratings by people in this role, e.g. interlocutor", metavar="ROLE")
    normalise: Literal["", "z", "rank"] = normalise_option()
    blend: bool = option(True, "choose from single metrics only", flag="--no-blend")
    n_bootstrap: int = option(1000, "resamples for intervals", flag="--bootstrap")
    n_permutations: int | None = permutations_option("pair of metrics")
    seed: int = option(0, "seed of folds, resamples and permutations")
    drop_own_replies: bool = drop_own_replies_option()
    without: Sequence[str] = without_system_option()


CHOOSE_DEFAULTS = ChooseOptions()

# SPDX-License-Identifier: Apache-2.0
"""Options of `meta_file`, `evaluate_continuity_file` and `interloq meta`; they import nothing that computes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from interloq.options import (
    REQUIRED,
    check_limits,
    direction_option,
    drop_own_replies_option,
    normalise_option,
    option,
    permutations_option,
    without_system_option,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaOptions:
    """What people rated (samples, or the dialogues they were made from), and how metrics are compared with the ratings.

    `coefficients` are names or functions; see `meta_evaluate`.
    """

    samples: str | Path | None = option(None, "the rated samples: JSONL, CSV or TSV", path=True, metavar="SAMPLES")
    dialogues: Sequence[str | Path] = option(
        (), "rated dialogues instead, whose utterances were scored (interloq play samples)", path=True, metavar="FILE"
    )
    aspects: Sequence[str] = option(
        (), "a rated aspect, or all of them: all (default overall)", flag="--aspect", metavar="NAME"
    )
    role: str = option("", "use only ratings by people in this role, e.g. interlocutor", metavar="ROLE")
    normalise: Literal["", "z", "rank"] = normalise_option()
    lower_is_better: bool | None = direction_option()
    by: Literal["none", "system", "sample", "user"] = option(
        "none", "correlate over all samples, over systems, or within each context or user"
    )
    n_bootstrap: int = option(1000, "resamples for intervals", flag="--bootstrap")
    n_permutations: int | None = permutations_option("pair of metrics")
    seed: int = option(0, "seed of resamples and permutations")
    compare: bool = option(True, "do not test metrics against each other", flag="--no-compare")
    adjust: Literal["holm", "bh"] = option("holm", "how p-values are adjusted")
    system_score: Literal["value", "mean"] = option(
        "value", "with --by system: the metric's value over a system's samples, or their mean score"
    )
    drop_own_replies: bool = drop_own_replies_option()
    without: Sequence[str] = without_system_option()
    coefficients: Iterable[Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAgreementOptions:
    """How a rater's weights are compared with people's ratings of the same references."""

    aspect: str = option("overall", "with --compare: the aspect that people rated", metavar="NAME")
    n_bootstrap: int = option(1000, "with --compare: resamples of contexts for intervals", flag="--bootstrap", least=0)
    seed: int = option(0, "with --compare: seed of the resamples")

    def __post_init__(self) -> None:
        check_limits(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOptions:
    """The samples whose labels scores predict, and further samples for baselines and thresholds."""

    samples: str | Path = option(REQUIRED, "the labelled samples", path=True, metavar="SAMPLES")
    train: str | Path | None = option(
        None,
        "with --labels: training samples, for baselines and for groups of users by training size",
        path=True,
        metavar="SAMPLES",
    )
    dev: str | Path | None = option(
        None,
        "with --labels: dev samples; give their scores too, to set thresholds by the reply ratio",
        path=True,
        metavar="SAMPLES",
    )
    groups: int = option(3, "with --train: groups of users")
    aspect: str = "continued"
    lower_is_better: bool | None = None
    n_bootstrap: int = 1000
    seed: int = 0

# SPDX-License-Identifier: Apache-2.0
"""Options of `report_file` and `interloq report`; they import nothing that computes, so that the help is fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from interloq.errors import InputError
from interloq.options import REQUIRED, check_limits, direction_option, option

TITLE = "Interloq report"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """The files beside the scores, settings of the computations, and how much of the results a report shows."""

    samples: str | Path = option(
        REQUIRED, "the samples that were scored, with their ratings", path=True, metavar="FILE"
    )
    models: Sequence[str | Path] = option(
        (), "show how this model was trained", flag="--model", path=True, metavar="FOLDER"
    )
    dialogues: Sequence[str | Path] = option(
        (), "the dialogues the samples were made from: adds a ranking and dialogues to read", path=True, metavar="FILE"
    )
    curves: Sequence[str | Path] = option(
        (), "draw these curves, written by `interloq reliability curve -o`", flag="--curve", path=True, metavar="FILE"
    )
    continuity: Sequence[str | Path] = option(
        (),
        "show how well replies are predicted: a table printed by `interloq meta --labels --json`",
        path=True,
        metavar="FILE",
    )
    comparisons: Sequence[str | Path] = option(
        (),
        "start with this verdict, written by `interloq compare -o` or `interloq gate -o`",
        flag="--comparison",
        path=True,
        metavar="FILE",
    )
    preferences: Sequence[str | Path] = option(
        (),
        "rank systems by these preferences of people, and show how often metrics agree with them",
        path=True,
        metavar="FILE",
    )
    aspect: str = option("overall", "the rated aspect", metavar="NAME")
    role: str = option("", "use only ratings by people in this role, e.g. interlocutor", metavar="NAME")
    title: str = option(TITLE, f"heading of the report (default {TITLE!r})", metavar="TEXT", shown="")
    n_bootstrap: int = option(1000, "resamples for intervals and tests; 0 for none", flag="--bootstrap", least=0)
    seed: int = option(0, "seed of the resamples")
    worst: int = option(10, "largest disagreements to show per metric", least=0)
    read: int = option(2, "best and worst dialogues to show per system", least=0)
    survival: bool = option(
        False, "with --dialogues: scores between 0 and 1 are probabilities of a reply; draw how long people would stay"
    )
    convergence: bool = option(
        False, "with --dialogues: draw how well rankings from different dialogues agree, by their number"
    )
    slice_by: Sequence[str] | None = option(
        None,
        "field to filter samples by; repeatable (default: topic, language, partner and length, as far as known)",
        flag="--slice",
        metavar="FIELD",
    )
    lower_is_better: bool | None = direction_option()

    def __post_init__(self) -> None:
        check_limits(self)
        if self.survival and not self.dialogues:
            raise InputError("survival curves need dialogues, but none are given", hint="add --dialogues FILE")
        if self.convergence and not self.dialogues:
            raise InputError("convergence needs dialogues, but none are given", hint="add --dialogues FILE")

    @property
    def n_permutations(self) -> int | None:
        """Permutations per test; none if there are no resamples."""
        return None if self.n_bootstrap else 0

# SPDX-License-Identifier: Apache-2.0
"""From files of scores and the dialogues they judge to rankings of systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from interloq.data.jsonl import Rejected, header, read_all
from interloq.data.progress import Progress, silent
from interloq.data.system_scores import read_system_scores
from interloq.errors import InputError
from interloq.meta.dialogue_scores import Pairing, dialogue_scores, metrics_of, rankable
from interloq.meta.origin import common_origin
from interloq.meta.rank import rank
from interloq.meta.ranking import Method, Ranking, Unit
from interloq.metrics.metric_names import find
from interloq.records import Dialogue, Score


@dataclass(frozen=True, slots=True)
class ScoredDialogues:
    """Dialogues and the scores of their utterances; `partner_set` is the hash of the partners they were played with."""

    scores: list[Score]
    dialogues: list[Dialogue]
    partner_set: str = ""


@dataclass(frozen=True, slots=True)
class Rankings:
    """One ranking per metric, and for metrics without one the reason."""

    rankings: list[Ranking]
    unranked: dict[str, str]


def rank_file(
    scores: Sequence[str | Path],
    dialogues: Sequence[str | Path],
    *,
    metric: str = "",
    method: Method = "mean",
    by: Unit = "dialogue",
    pair_by: Pairing | None = None,
    lower_is_better: bool | None = None,
    human: str | Path | None = None,
    n_bootstrap: int = 1000,
    n_permutations: int | None = None,
    seed: int = 0,
    survival: bool = False,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    progress: Progress = silent,
) -> Rankings:
    """Rank systems by one metric of the score files, or by each for which higher or lower is better; see `rank`.

    `human` is a file with people's score of each system. Bad lines are handled as in `interloq.read`.
    """
    scored = read_scored(scores, dialogues, strict=strict, on_reject=on_reject)
    people = read_system_scores(human) if human else None
    known = metrics_of(scored.scores)
    metrics, unranked = rankable([find(metric, known)] if metric else known, lower_is_better)
    found = Rankings([], unranked)
    with progress("ranking", None) as step:
        for name in metrics:
            ranking = rank(
                dialogue_scores(scored.scores, scored.dialogues, metric=name, pair_by=pair_by),
                method=method,
                by=by,
                lower_is_better=lower_is_better,
                n_bootstrap=n_bootstrap,
                n_permutations=n_permutations,
                seed=seed,
                human=people,
                partner_set=scored.partner_set,
                survival=survival,
            )
            found.rankings.append(ranking)
            step(1)
    return found


def read_scored(
    scores: Sequence[str | Path],
    dialogues: Sequence[str | Path],
    *,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
) -> ScoredDialogues:
    """Read scores and their dialogues; files that cannot be compared are refused."""
    files = [str(path) for path in (*dialogues, *scores)]
    if "-" in files:
        raise InputError("rankings need files, not a pipe", hint="write scores and dialogues to files")
    for paths in (scores, dialogues):
        for path in paths:
            if paths.count(path) > 1:
                raise InputError(f"{path} is named twice", hint="name each file once")
    origin = common_origin({path: header(path) for path in files})
    read = partial(read_all, strict=strict, on_reject=on_reject)
    found = list(read(scores, kind="scores")), list(read(dialogues, kind="dialogues"))
    return ScoredDialogues(*found, origin.get("partners", ""))

# SPDX-License-Identifier: Apache-2.0
"""From files of scores and the dialogues they judge to rankings of systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from interloq.agree.dialogue_scores import Pairing, dialogue_scores, metrics_of, rankable
from interloq.agree.rating_scores import rating_scores
from interloq.agree.system_agreement import rated_systems
from interloq.data.progress import Progress, silent
from interloq.data.records.jsonl import Rejected, header, read_all
from interloq.data.records.system_scores import read_system_scores
from interloq.data.text.texts import kind_of
from interloq.errors import InputError
from interloq.metrics.metric_names import find
from interloq.play.dialogue_origin import common_origin
from interloq.rank.rank import rank
from interloq.rank.ranking import Method, Ranking, Unit
from interloq.records import Dialogue, Score
from interloq.score.scored_samples import ScoredSamples

RATED = ("samples", "dialogues")  # kinds whose ratings can be ranked by


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
    aspect: str | None = None,
    role: str = "",
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    progress: Progress = silent,
) -> Rankings:
    """Rank systems by one metric of the score files, or by each for which higher or lower is better; see `rank`.

    `human` is a file with people's score of each system; by default it is their mean rating in the dialogues, if these
    have ratings. `aspect` and `role` select the ratings of samples or dialogues that are given instead of scores. Bad
    lines are handled as in `interloq.read`.
    """
    scored = read_scored(scores, dialogues, aspect=aspect, role=role, strict=strict, on_reject=on_reject)
    people: Mapping[str, float] = {}
    if human:
        people = read_system_scores(human)
    elif aspect is None:  # otherwise the ratings are what systems are ranked by
        people = rated_systems(scored.dialogues)
    known = metrics_of(scored.scores)
    metrics, unranked = rankable([find(metric, known)] if metric else known, lower_is_better)
    rankings = Rankings([], unranked)
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
            rankings.rankings.append(ranking)
            step(1)
    return rankings


def read_scored(
    scores: Sequence[str | Path],
    dialogues: Sequence[str | Path],
    *,
    aspect: str | None = None,
    role: str = "",
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
) -> ScoredDialogues:
    """Read scores and their dialogues; files that cannot be compared are refused.

    With an `aspect`, `scores` are samples or dialogues, and people's ratings of them are the scores.
    """
    files = [str(path) for path in (*dialogues, *scores)]
    if "-" in files:
        raise InputError("rankings need files, not a pipe", hint="write scores and dialogues to files")
    for paths in (scores, dialogues):
        for path in paths:
            if paths.count(path) > 1:
                raise InputError(f"{path} is named twice", hint="name each file once")
    origin = common_origin({path: header(path) for path in files})
    read = partial(read_all, strict=strict, on_reject=on_reject)
    talks = list(read(dialogues, kind="dialogues"))
    return ScoredDialogues(_scores(scores, talks, aspect, role, read), talks, origin.get("partners", ""))


def _scores(
    paths: Sequence[str | Path],
    dialogues: Sequence[Dialogue],
    aspect: str | None,
    role: str,
    read: Callable[..., Iterator[Any]],
) -> list[Score]:
    if aspect is None and role:
        raise InputError(f"role {role!r} without an aspect", hint="name the aspect of the ratings: --aspect overall")
    rated = {}
    if aspect is not None:
        for path in paths:
            if (kind := kind_of(path)) in RATED:
                rated[path] = kind
    if aspect is not None and not rated:
        raise InputError(f"no ratings of {aspect!r}: {paths[0]} has scores", hint="give samples or dialogues")
    scored = [path for path in paths if path not in rated]
    loaded = list(ScoredSamples(dialogues=dialogues).check_all(scored, partial(read, kind="scores")))
    for path, kind in rated.items():
        loaded += rating_scores(read([path], kind=kind), aspect=aspect or "", role=role)
    return loaded

# SPDX-License-Identifier: Apache-2.0
"""Dialogues with the scores of the systems in them: read from files that can be compared, or scored here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from interloq.agree.system_agreement import rating_scores
from interloq.data.progress import Progress
from interloq.data.records.jsonl import header
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.data.text.texts import kind_of
from interloq.errors import InputError
from interloq.play.dialogue_origin import common_origin
from interloq.play.samples import samples, whole_dialogues
from interloq.records import Dialogue, Score
from interloq.score.default_metrics import require_judge
from interloq.score.evaluate import evaluate_all, evaluate_by_unit
from interloq.score.parse_metrics import choose
from interloq.score.scored_samples import ScoredSamples
from interloq.signature import Signature

RATED = ("samples", "dialogues")  # kinds whose ratings can be ranked by


@dataclass(frozen=True, slots=True)
class ScoredDialogues:
    """Dialogues and the scores of their utterances; `partner_set` is the hash of the partners they were played with."""

    scores: list[Score]
    dialogues: list[Dialogue]
    partner_set: str = ""


def read_scored(
    scores: Sequence[str | Path],
    dialogues: Sequence[str | Path],
    *,
    aspect: str | None = None,
    role: str = "",
    reading: ReadOptions = READ_DEFAULTS,
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
    played = list(reading.read_beside(dialogues, kind="dialogues"))
    return ScoredDialogues(_read_scores(scores, played, aspect, role, reading), played, origin.get("partners", ""))


def score_dialogues(dialogues: Sequence[Dialogue], metric: str, progress: Progress) -> tuple[list[Score], Signature]:
    """Return the scores of the replies or dialogues that a metric judges, by default the packaged judge."""
    units = {False: list(samples(dialogues)), True: list(whole_dialogues(dialogues))}
    metric = metric or require_judge(units[False], "rank", of_dialogues=True)
    (chosen,), _ = choose([metric])
    with progress("scoring", None) as step:
        (by_system,) = evaluate_by_unit(
            [chosen.metric], lambda some, whole: evaluate_all(some, units[whole], n_bootstrap=0, progress=step)
        )
    return list(by_system[""].scores(chosen.name)), by_system[""].signature


def _read_scores(
    paths: Sequence[str | Path], dialogues: Sequence[Dialogue], aspect: str | None, role: str, reading: ReadOptions
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
    read_scores = partial(reading.read_beside, kind="scores")
    scores = list(ScoredSamples(dialogues=dialogues).check_all(scored, read_scores))
    for path, kind in rated.items():
        scores += rating_scores(reading.read_beside([path], kind=kind), aspect=aspect or "", role=role)
    return scores

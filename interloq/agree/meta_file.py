# SPDX-License-Identifier: Apache-2.0
"""From files of scores and rated samples or dialogues to agreement with people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from interloq.agree.agreement import meta_evaluate
from interloq.agree.judgments import aspects as rated_aspects
from interloq.agree.rated_dialogues import rated_dialogues
from interloq.agree.table import By, MetaTable, SystemScore, UnitKind
from interloq.data.progress import Progress, counted, silent
from interloq.data.records.jsonl import Rejected, read_all
from interloq.data.records.raters import Normalise
from interloq.errors import InputError
from interloq.play.dialogue_origin import same_judge
from interloq.records import Sample, Score
from interloq.score.scored_samples import ScoredSamples
from interloq.score.selection import SampleFilter
from interloq.score.signatures import known_signatures
from interloq.signature import Signature
from interloq.statistics.correlation import Coefficients, Correlation
from interloq.statistics.estimate import COEFFICIENTS
from interloq.statistics.significance import Adjust

ALL = "all"


def meta_file(
    scores: Sequence[str | Path],
    samples: str | Path | None = None,
    *,
    dialogues: Sequence[str | Path] = (),
    aspects: Sequence[str] = ("overall",),
    role: str = "",
    by: By = "none",
    coefficients: Coefficients | Iterable[str | Correlation] = COEFFICIENTS,
    n_bootstrap: int = 1000,
    seed: int = 0,
    compare: bool = True,
    n_permutations: int | None = None,
    adjust: Adjust = "holm",
    system_score: SystemScore = "value",
    lower_is_better: bool | None = None,
    normalise: Normalise = "",
    drop_own_replies: bool = False,
    without: Sequence[str] = (),
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> dict[str, MetaTable]:
    """How well the metrics of score files agree with people, for each of these `aspects`; see `meta_evaluate`.

    People rated the samples, or else the `dialogues` that the samples were made from. `all` stands for all rated
    aspects. `without` names systems to exclude; `drop_own_replies` drops references identical to the reply being
    judged. `-` is a pipe. Bad lines, and `columns` for the samples, are handled as in `interloq.read`.
    """
    if (samples is None) == (not dialogues):
        raise InputError("rated samples or rated dialogues are needed, not both", hint="give --samples or --dialogues")
    read = partial(read_all, strict=strict, on_reject=on_reject)
    with progress("meta-evaluating", None) as step:
        talks = list(counted(read(dialogues, kind="dialogues"), step))
        checked = ScoredSamples(dialogues=talks)
        scored: Iterable[Score] = counted(checked.check_all(scores, partial(read, kind="scores")), step)
        rated: Iterable[Sample] = checked.watch(counted(read([samples] if samples else [], columns=columns), step))
        if dialogues:
            scored, rated = rated_dialogues(scored, talks)
        if len(aspects) > 1 or ALL in aspects:
            rated, scored = list(rated), list(scored)  # samples first, so that scores can be checked
            aspects = _asked(aspects, rated)
        evaluate = partial(meta_evaluate, role=role, by=by, coefficients=coefficients, n_bootstrap=n_bootstrap)
        evaluate = partial(evaluate, seed=seed, compare=compare, n_permutations=n_permutations, adjust=adjust)
        evaluate = partial(evaluate, system_score="mean" if dialogues else system_score)
        evaluate = partial(evaluate, lower_is_better=lower_is_better, normalise=normalise)
        select = partial(SampleFilter, drop_own_replies=drop_own_replies, without=without)
        tables = {aspect: evaluate(scored, rated, aspect=aspect, selection=select()) for aspect in aspects}
    judges = _judges(scores)
    unit: UnitKind = "dialogue" if dialogues else "sample"
    notes = checked.notes()
    return {
        aspect: replace(table, judges=judges, unit=unit, notes=(*table.notes, *notes))
        for aspect, table in tables.items()
    }


def _judges(paths: Sequence[str | Path]) -> dict[str, Signature]:
    """Signatures of the metrics; those that files scored by different versions are left out."""
    found: dict[str, Signature] = {}
    differing = set()
    for path in paths:
        for metric, judge in known_signatures(path).items():
            if not same_judge(found.setdefault(metric, judge), judge):
                differing.add(metric)
    return {metric: judge for metric, judge in found.items() if metric not in differing}


def _asked(aspects: Sequence[str], samples: Iterable[Sample]) -> list[str]:
    """The named aspects once each; for `all`, those with judgments."""
    rated = [name for name, (_, judgments, _) in rated_aspects(samples).items() if judgments]
    if not rated:
        raise InputError("no sample or dialogue has ratings", hint='give them "ratings": [{"value": 4, …}]')
    every = ALL in aspects and ALL not in rated
    return list(dict.fromkeys(rated if every else aspects))

# SPDX-License-Identifier: Apache-2.0
"""From files of scores and rated samples or dialogues to agreement with people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from interloq.agree.agreement import meta_evaluate
from interloq.agree.dialogue_scores import rated_dialogues
from interloq.agree.judgments import aspects as rated_aspects
from interloq.agree.meta_options import MetaOptions
from interloq.agree.table import MetaTable, UnitKind
from interloq.data.progress import Progress, count_records, silent
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError
from interloq.play.dialogue_origin import same_judge
from interloq.records import Sample, Score
from interloq.score.scored_samples import ScoredSamples
from interloq.score.selection import SampleFilter
from interloq.score.signatures import read_known_signatures
from interloq.signature import Signature
from interloq.statistics.estimate import COEFFICIENTS

ALL = "all"


def meta_file(
    scores: Sequence[str | Path],
    options: MetaOptions,
    *,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> dict[str, MetaTable]:
    """Return how well the metrics of score files agree with people, for each of the aspects; see `meta_evaluate`.

    `all` stands for all rated aspects, and `-` is a pipe.
    """
    if (options.samples is None) == (not options.dialogues):
        raise InputError("rated samples or rated dialogues are needed, not both", hint="give --samples or --dialogues")
    with progress("meta-evaluating", None) as step:
        dialogues = list(count_records(reading.read_beside(options.dialogues, kind="dialogues"), step))
        checked = ScoredSamples(dialogues=dialogues)
        read_scores = partial(reading.read_beside, kind="scores")
        scored: Iterable[Score] = count_records(checked.check_all(scores, read_scores), step)
        rated: Iterable[Sample] = ()
        if options.samples is not None:
            rated = checked.watch(count_records(reading.read(options.samples), step))
        else:
            scored, rated = rated_dialogues(scored, dialogues)
        aspects = options.aspects or ["overall"]
        if len(aspects) > 1 or ALL in aspects:
            rated, scored = list(rated), list(scored)  # samples first, so that scores can be checked
            aspects = _select_aspects(aspects, rated)
        tables = {}
        for aspect in aspects:
            tables[aspect] = meta_evaluate(
                scored,
                rated,
                aspect=aspect,
                role=options.role,
                by=options.by,
                coefficients=COEFFICIENTS if options.coefficients is None else options.coefficients,
                n_bootstrap=options.n_bootstrap,
                seed=options.seed,
                compare=options.compare,
                n_permutations=options.n_permutations,
                adjust=options.adjust,
                system_score="mean" if options.dialogues else options.system_score,
                lower_is_better=options.lower_is_better,
                normalise=options.normalise,
                selection=SampleFilter(drop_own_replies=options.drop_own_replies, without=options.without),
            )
    judges, notes = _judges(scores), checked.notes()
    unit: UnitKind = "dialogue" if options.dialogues else "sample"
    for aspect, table in tables.items():
        tables[aspect] = replace(table, judges=judges, unit=unit, notes=(*table.notes, *notes))
    return tables


def _judges(paths: Sequence[str | Path]) -> dict[str, Signature]:
    """Return the signatures of the metrics; metrics with scores from different versions are left out."""
    judges: dict[str, Signature] = {}
    differing = set()
    for path in paths:
        for metric, judge in read_known_signatures(path).items():
            if not same_judge(judges.setdefault(metric, judge), judge):
                differing.add(metric)
    for metric in differing:
        del judges[metric]
    return judges


def _select_aspects(aspects: Sequence[str], samples: Iterable[Sample]) -> list[str]:
    """Return the named aspects once each; for `all`, the aspects with judgments."""
    rated = [name for name, (_, judgments, _) in rated_aspects(samples).items() if judgments]
    if not rated:
        raise InputError("no sample or dialogue has ratings", hint='give them "ratings": [{"value": 4, …}]')
    if ALL in aspects and ALL not in rated:
        return rated
    return list(dict.fromkeys(aspects))

# SPDX-License-Identifier: Apache-2.0
"""From a file of rated samples or dialogues to the metric that agrees best with people, and a file that names it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from interloq.agree.dialogue_scores import rated_dialogues
from interloq.agree.judgments import Judgments, aspects, collect, default_aspect
from interloq.agree.score_columns import score_columns
from interloq.choose.choice import Choice
from interloq.choose.choose import Column, choose
from interloq.choose.choose_options import CHOOSE_DEFAULTS, ChooseOptions
from interloq.choose.stored_scores import ABOUT_SETS, StoredScores, read_stored_scores
from interloq.data.files.opening import write_json
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.data.records.convert_file import detect_kind
from interloq.data.records.raters import select_ratings
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError
from interloq.metrics import metric_names
from interloq.metrics.metric import Metric, SetMetric
from interloq.play.samples import samples as samples_of
from interloq.records import Dialogue, Sample, Score
from interloq.score.default_metrics import (
    FEWEST_TO_LEARN,
    READ,
    Defaults,
    default_metrics,
    is_english,
    learning_step,
    length_metric,
)
from interloq.score.evaluate import evaluate_all
from interloq.score.parse_metrics import choose as chosen_metrics
from interloq.score.parse_metrics import refuse_functions
from interloq.score.selection import SampleFilter


def choose_file(
    path: str | Path,
    output: str | Path | None = None,
    options: ChooseOptions = CHOOSE_DEFAULTS,
    *,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> Choice:
    """Choose the metric that agrees best with the people who rated the samples or dialogues of a file; see `choose`.

    Without metrics or score files in the options, those that the samples allow are compared. Without an aspect, the
    only rated one is used, or else `overall`. The length of replies, and for dialogues the number of turns, are
    baselines: metrics are compared with them, but they are never chosen or blended. The chosen metric is written to
    `output`, which `interloq score -m @FILE` reads.
    """
    refuse_overwriting([output] if output else [], [path, *options.scores])
    refuse_functions(options.metrics)
    kind = "dialogues" if str(path) != "-" and detect_kind(path) == "dialogues" else "samples"
    selection = SampleFilter(drop_own_replies=options.drop_own_replies, without=options.without)
    if selection.facts() and kind == "dialogues":
        raise InputError("systems and references can be excluded for samples only", hint="give rated samples")
    records = reading.read(path, kind=kind)
    rated = list(records if kind == "dialogues" else selection.samples(records))
    aspect = options.aspect or default_aspect(aspects(rated))
    stored = read_stored_scores(options.scores, rated, selection, reading)
    scored = _score_rated(rated, options, aspect, stored, progress)
    judgments = collect(scored.items, aspect=aspect, role=options.role, normalise=options.normalise)
    choice = choose(
        _columns(scored, judgments),
        judgments,
        blend=options.blend,
        n_bootstrap=options.n_bootstrap,
        n_permutations=options.n_permutations,
        seed=options.seed,
        unit=kind.removesuffix("s"),
    )
    notes = (*choice.notes, *(note.text for note in selection.notes()), *scored.notes)
    signature = choice.signature.with_parts({"normalise": options.normalise, **selection.facts()})
    choice = replace(choice, excluded={**choice.excluded, **scored.excluded}, notes=notes, signature=signature)
    if kind == "samples" and str(path) != "-" and choice.samples >= FEWEST_TO_LEARN and is_english(scored.items[:READ]):
        choice = replace(choice, next_steps=(learning_step(shlex.quote(str(path))),))
    if output:
        write_json(output, choice.to_file())
    return choice


@dataclass(frozen=True, slots=True)
class _ScoredItems:
    """Rated samples, or dialogues as rated items, and their scores."""

    items: Sequence[Sample]
    scores: Sequence[Score]
    metrics: Mapping[str, Metric]  # by their names in the scores
    excluded: Mapping[str, str]
    notes: Sequence[str]


def _score_rated(
    records: Sequence[Sample | Dialogue], options: ChooseOptions, aspect: str, stored: StoredScores, progress: Progress
) -> _ScoredItems:
    """Score the rated records, unless their scores are stored; unrated ones are of no use here."""
    dialogues, samples = _select_rated(records, aspect, options.role)
    scores = stored.of_rated(samples, dialogues)
    if options.metrics or options.scores:
        defaults = Defaults((*options.metrics, length_metric(samples)))
    else:
        defaults = default_metrics(samples, every=True)
    chosen, _ = chosen_metrics(defaults.metrics)
    single: dict[str, Metric] = {}
    excluded = dict(stored.excluded)
    for item in chosen:
        if isinstance(item.metric, SetMetric):
            if options.metrics:
                excluded[item.name] = ABOUT_SETS
        elif item.name not in stored.metrics:
            single[item.name] = item.metric
            excluded.pop(item.name, None)
    with progress("scoring", len(samples)) as step:
        results = evaluate_all(list(single.values()), samples, n_bootstrap=0, progress=step)
    notes: dict[str, None] = {}
    for name, by_system in zip(single, results, strict=True):
        scores += by_system[""].scores(name)
        notes |= dict.fromkeys(note.text for note in by_system[""].notes)
    if dialogues:
        scores, samples = rated_dialogues(scores, dialogues)
    left_out = [f"left out: {why}" for why in defaults.left_out]
    return _ScoredItems(samples, scores, {**stored.metrics, **single}, excluded, [*stored.notes, *notes, *left_out])


def _select_rated(records: Sequence[Sample | Dialogue], aspect: str, role: str) -> tuple[list[Dialogue], list[Sample]]:
    """Return the rated dialogues, if the records are dialogues, and the samples to score."""
    dialogues: list[Dialogue] = []
    samples: list[Sample] = []
    for record in records:
        if all(rating.value is None for rating in select_ratings(record, aspect, role)):
            continue
        if isinstance(record, Dialogue):
            dialogues.append(record)
        else:
            samples.append(record)
    if not dialogues and not samples:
        by = f" by people in role {role!r}" if role else ""
        rated, hint = aspects(records), "add ratings"
        if rated:
            hint = f"rated aspects: {', '.join(rated)}; choose one with --aspect"
        raise InputError(f"no ratings of aspect {aspect!r}{by}", hint=hint)
    return dialogues, samples or list(samples_of(dialogues))


def _columns(scored: _ScoredItems, judgments: Judgments) -> dict[str, Column]:
    columns = {}
    scores_by_metric, _ = score_columns(scored.scores, judgments, SampleFilter())
    for name, scores in scores_by_metric.items():
        metric = scored.metrics.get(name)
        better = metric.direction if metric else metric_names.direction(name)
        is_baseline = metric is None or better == "neither"
        columns[name] = Column(scores, metric, sign=-1.0 if better == "lower" else 1.0, is_baseline=is_baseline)
    return columns

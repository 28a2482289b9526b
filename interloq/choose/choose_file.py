# SPDX-License-Identifier: Apache-2.0
"""From a file of rated samples or dialogues to the metric that agrees best with people, and a file that names it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from interloq.agree.dialogue_scores import rated_dialogues
from interloq.agree.judgments import Judgments, aspects, collect, default_aspect
from interloq.agree.score_columns import score_columns
from interloq.choose.choice import Choice
from interloq.choose.choose import Column, choose
from interloq.choose.choose_options import CHOOSE_DEFAULTS, ChooseOptions
from interloq.data.files.opening import write_json
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.progress import Progress, silent
from interloq.data.records.convert_file import kind_held
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError
from interloq.metrics import metric_names
from interloq.metrics.metric import Array, Metric, SetMetric
from interloq.play.samples import samples as samples_of
from interloq.records import Dialogue, Sample, Score
from interloq.score.default_metrics import Defaults, default_metrics, length_metric
from interloq.score.evaluate import evaluate_all
from interloq.score.parse_metrics import choose as chosen_metrics
from interloq.score.parse_metrics import refuse_functions
from interloq.score.selection import SampleFilter

ABOUT_SETS = "it scores sets of replies, not single ones"


def choose_file(
    path: str | Path,
    output: str | Path | None = None,
    options: ChooseOptions = CHOOSE_DEFAULTS,
    *,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> Choice:
    """Choose the metric that agrees best with the people who rated the samples or dialogues of a file; see `choose`.

    Without metrics in the options, those that the samples allow are compared. Without an aspect, it is the only one
    that is rated, or else `overall`. The length of replies, and for dialogues the number of turns, are baselines: they
    are compared with, but never chosen or blended. The chosen metric is written to `output`, which
    `interloq score -m @FILE` reads.
    """
    refuse_overwriting([output] if output else [], [path])
    refuse_functions(options.metrics)
    kind = "dialogues" if str(path) != "-" and kind_held(path) == "dialogues" else "samples"
    selection = SampleFilter(drop_own_replies=options.drop_own_replies, without=options.without)
    if selection.facts() and kind == "dialogues":
        raise InputError("systems and references can be excluded for samples only", hint="give rated samples")
    records = reading.read(path, kind=kind)
    rated = list(records if kind == "dialogues" else selection.samples(records))
    aspect = options.aspect or default_aspect(aspects(rated))
    scored = _scored(rated, options.metrics, aspect, options.role, progress)
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


def _scored(
    records: Sequence[Sample | Dialogue], metrics: Sequence[str], aspect: str, role: str, progress: Progress
) -> _ScoredItems:
    """Score the rated records; unrated ones are of no use here."""
    known, records = aspects(records), [record for record in records if _is_rated(record, aspect, role)]
    if not records:
        by = f" by people in role {role!r}" if role else ""
        hint = f"rated aspects: {', '.join(known)}; choose one with --aspect" if known else "add ratings"
        raise InputError(f"no ratings of aspect {aspect!r}{by}", hint=hint)
    dialogues = [record for record in records if isinstance(record, Dialogue)]
    samples = list(samples_of(dialogues)) if dialogues else [r for r in records if isinstance(r, Sample)]
    defaults = Defaults((*metrics, length_metric(samples))) if metrics else default_metrics(samples, every=True)
    chosen, _ = chosen_metrics(defaults.metrics)
    single = {one.name: one.metric for one in chosen if not isinstance(one.metric, SetMetric)}
    with progress("scoring", len(samples)) as step:
        results = evaluate_all(list(single.values()), samples, n_bootstrap=0, progress=step)
    scores = [score for name, found in zip(single, results, strict=True) for score in found[""].scores(name)]
    scores, items = rated_dialogues(scores, dialogues) if dialogues else (scores, samples)
    excluded = {one.name: ABOUT_SETS for one in chosen if metrics and one.name not in single}
    notes = dict.fromkeys(note.text for found in results for note in found[""].notes)
    return _ScoredItems(items, scores, single, excluded, [*notes, *(f"left out: {why}" for why in defaults.left_out)])


def _is_rated(record: Sample | Dialogue, aspect: str, role: str) -> bool:
    return any(r.aspect == aspect and role in ("", r.role) and r.value is not None for r in record.ratings)


def _columns(scored: _ScoredItems, judgments: Judgments) -> dict[str, Column]:
    found = score_columns(scored.scores, judgments, SampleFilter())[0]
    return {name: _column(name, scored.metrics.get(name), own) for name, own in found.items()}


def _column(name: str, metric: Metric | None, scores: Array) -> Column:
    better = metric.direction if metric else metric_names.direction(name)
    return Column(
        scores, metric, sign=-1.0 if better == "lower" else 1.0, is_baseline=not metric or better == "neither"
    )

# SPDX-License-Identifier: Apache-2.0
"""Evidence for a report: its input files, the command that reproduces it, and the results computed from the files."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from interloq.agree.agreement import meta_evaluate
from interloq.agree.continuity_table import read_continuity
from interloq.agree.dialogue_scores import (
    LARGEST,
    TOO_LARGE,
    DialogueScore,
    Extremes,
    dialogue_scores,
    extremes,
    metrics_of,
)
from interloq.agree.disagreements import Disagreements, disagreements
from interloq.agree.judgments import aspects, collect
from interloq.agree.metric_similarity import spearman_matrix
from interloq.agree.system_agreement import rated_systems
from interloq.compare.comparison_file import read_comparison
from interloq.data.records.jsonl import header
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError
from interloq.metrics import metric_names
from interloq.options import command_words
from interloq.play.dialogue_origin import common_origin
from interloq.rank.human_preferences import PreferenceAgreement, preference_agreement, rank_preferences
from interloq.rank.rank import rank
from interloq.rank.ranking import Ranking
from interloq.records import Dialogue, Key, Note, Preference, Sample, Score
from interloq.reliability.curve_file import read_curves
from interloq.reliability.weak_references import Predictions
from interloq.report.build import Evidence, columns, identify_scores
from interloq.report.page import InputFile
from interloq.report.report_options import ReportOptions
from interloq.report.sections.agreement import PEOPLE
from interloq.report.sections.models import model_files, read_model
from interloq.report.sections.scores import SystemScore, read_notes, read_results
from interloq.report.sections.side_by_side import find_differing_dialogues
from interloq.score.scored_samples import ScoredSamples
from interloq.signature import file_fingerprint


@dataclass(frozen=True, slots=True)
class Inputs:
    """Score files, and the files that the options name."""

    scores: Sequence[str | Path]
    options: ReportOptions

    def __post_init__(self) -> None:
        if "-" in map(str, self.files):
            raise InputError("a report needs files, not a pipe", hint="write the scores and samples to files")

    @property
    def files(self) -> list[str | Path]:
        """Return all files that are read."""
        options = self.options
        return [
            *self.scores,
            options.samples,
            *options.dialogues,
            *options.curves,
            *options.continuity,
            *options.comparisons,
            *options.preferences,
        ]

    def names(self) -> dict[str, str]:
        """Return paths of files and models relative to their common folder: reports get published."""
        whole = {str(path): Path(path).resolve() for path in (*self.files, *self.options.models)}
        folder = os.path.commonpath([path.parent for path in whole.values()])
        return {name: path.relative_to(folder).as_posix() for name, path in whole.items()}

    def sources(self) -> list[InputFile]:
        """Return the fingerprint of every file that was read."""
        names = self.names()
        paths = {names[str(path)]: Path(path) for path in self.files}
        for folder in self.options.models:
            paths |= {f"{names[str(folder)]}/{file.name}": file for file in model_files(Path(folder))}
        return [InputFile(name, file_fingerprint(path)) for name, path in paths.items()]

    def command(self, reading: ReadOptions) -> str:
        """Return the command that reproduces this report in the folder of its files."""
        names = self.names()
        scores = [names[str(path)] for path in self.scores]
        options = command_words(self.options, lambda path: names[str(path)])
        return shlex.join(["interloq", "report", *scores, "-o", "report.html", *options, *command_words(reading)])


def read_evidence(inputs: Inputs, reading: ReadOptions = READ_DEFAULTS) -> Evidence:
    """Read all files of a report and compute what it shows."""
    options, names = inputs.options, inputs.names()
    samples: list[Sample] = list(reading.read(options.samples))
    dialogues: list[Dialogue] = list(reading.read_beside(options.dialogues, kind="dialogues"))
    predictions = Predictions()
    all_scores, unchecked = _read_scores(inputs.scores, samples, dialogues, reading)
    scores = identify_scores(predictions.without(all_scores), samples)
    headers = {str(path): header(path) for path in (*options.dialogues, *inputs.scores)}
    partners = common_origin(headers).get("partners", "")
    preferences: list[Preference] = list(reading.read_beside(options.preferences, kind="preferences"))
    results: list[SystemScore] = []
    for path in map(str, inputs.scores):
        results += read_results(headers[path], path)
    scored, judged = columns(scores), _judgments(samples, options)
    compared, table = dict(scored), None
    if judged:
        compared[PEOPLE] = judged
        table = meta_evaluate(
            scores,
            samples,
            aspect=options.aspect,
            role=options.role,
            n_bootstrap=options.n_bootstrap,
            n_permutations=options.n_permutations,
            seed=options.seed,
            lower_is_better=options.lower_is_better,
        )
    ranked = _Ranked([], {}, {}, {})
    if dialogues:
        ranked = _rank(scores, dialogues, options, partners)
    unknown = metric_names.unknown_directions(metrics_of(scores), options.lower_is_better)
    return Evidence(
        samples=[_in_role(sample, options.role) for sample in samples],
        scores=scores,
        results=results,
        notes=_with_notes(read_notes(headers[str(path)] for path in inputs.scores), unchecked),
        judgments=judged,
        table=table,
        matrix=spearman_matrix(compared),
        disagreements={metric: _disagreements(metric, column, judged, options) for metric, column in scored.items()},
        models=[read_model(Path(path), names[str(path)]) for path in options.models],
        rankings=ranked.rankings,
        dialogues=dialogues,
        extremes=ranked.extremes,
        contrasts=ranked.contrasts,
        unranked=ranked.unranked | dict.fromkeys(unknown, metric_names.UNKNOWN_DIRECTION),
        curves=list(chain.from_iterable(map(read_curves, options.curves))),
        predictions=predictions,
        continuity=list(map(read_continuity, options.continuity)),
        comparisons=list(map(read_comparison, options.comparisons)),
        preferences=rank_preferences(preferences, n_bootstrap=options.n_bootstrap, seed=options.seed),
        preferred=_compute_preference_agreement(preferences, scores, options.lower_is_better),
        lower_is_better=options.lower_is_better,
        slice_by=options.slice_by,
    )


def _read_scores(
    paths: Sequence[str | Path], samples: Sequence[Sample], dialogues: Sequence[Dialogue], reading: ReadOptions
) -> tuple[list[Score], list[str]]:
    """Return scores that belong to these samples and dialogues, and notes on files that could not be checked."""
    of_samples, of_dialogues = ScoredSamples(samples), ScoredSamples(dialogues=dialogues)
    scores: list[Score] = []
    for path in paths:
        scores += of_dialogues.check(of_samples.check(reading.read_beside([path], kind="scores"), path), path)
    return scores, of_samples.notes()


def _with_notes(notes: list[Note] | None, texts: Sequence[str]) -> list[Note] | None:
    if not texts:
        return notes
    return [*(notes or []), *(Note("scored samples", text, 0, 0) for text in texts)]


def _in_role(sample: Sample, role: str) -> Sample:
    """Return the sample with the ratings by people in this role; with all ratings if the role is empty."""
    if not role:
        return sample
    return replace(sample, ratings=tuple(rating for rating in sample.ratings if rating.role == role))


def _judgments(samples: Sequence[Sample], options: ReportOptions) -> dict[Key, float]:
    """Return the mean judgment of each sample; empty if this aspect was not rated."""
    _, judged, _ = aspects(samples).get(options.aspect, (0, 0, 0))
    if not judged:
        return {}
    judgments = collect(samples, aspect=options.aspect, role=options.role)
    means = zip(judgments.keys, judgments.mean().tolist(), strict=True)
    return {key: mean for key, mean in means if not math.isnan(mean)}


def _compute_preference_agreement(
    preferences: Sequence[Preference], scores: Sequence[Score], lower: bool | None
) -> list[PreferenceAgreement]:
    """Return the agreement of metrics with preferences; empty if no preference has scores of both replies."""
    known = [score for score in scores if not metric_names.unknown_directions([score.metric], lower)]
    try:
        return preference_agreement(preferences, known, lower_is_better=lower)
    except InputError:
        return []


def _disagreements(
    metric: str, column: Mapping[Key, float], judged: Mapping[Key, float], options: ReportOptions
) -> Disagreements:
    lower = metric_names.direction(metric, options.lower_is_better) == "lower"
    return disagreements(column, judged, worst=options.worst, lower_is_better=lower)


class _Ranked(NamedTuple):
    rankings: list[Ranking]  # one per metric
    extremes: dict[str, dict[str, Extremes]]  # the dialogues to read
    contrasts: dict[str, list[tuple[DialogueScore, ...]]]  # dialogues to read side by side
    unranked: dict[str, str]  # metrics that systems cannot be ranked by, and why


def _rank(scores: Sequence[Score], dialogues: Sequence[Dialogue], options: ReportOptions, partner_set: str) -> _Ranked:
    lower = options.lower_is_better
    too_large = {score.metric for score in scores if abs(score.value or 0) > LARGEST}
    ranked = _Ranked([], {}, {}, {})
    for metric in metrics_of(scores):
        if why := metric_names.unrankable(metric, lower):
            ranked.unranked[metric] = why[0]
        if metric in too_large:
            ranked.unranked[metric] = TOO_LARGE
        if metric in ranked.unranked:
            continue
        rows = dialogue_scores(scores, dialogues, metric=metric)
        ranked.contrasts[metric] = find_differing_dialogues(rows, options.read)
        ranked.extremes[metric] = extremes(rows, options.read, lower_is_better=lower)
        ranked.rankings.append(
            rank(
                rows,
                lower_is_better=lower,
                n_bootstrap=options.n_bootstrap,
                n_permutations=options.n_permutations,
                seed=options.seed,
                human=rated_systems(dialogues),
                partner_set=partner_set,
                survival=options.survival,
                convergence=options.convergence,
            )
        )
    return ranked

# SPDX-License-Identifier: Apache-2.0
"""Scores in files as candidates, so that expensive metrics are not scored again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from interloq.data.records.read_options import ReadOptions
from interloq.errors import InputError, InterloqError, SpecError
from interloq.metrics.metric import FittedMetric, Metric, SetMetric
from interloq.metrics.traits import traits
from interloq.records import Dialogue, Sample, SampleKeys, Score, format_key
from interloq.registry import create
from interloq.score.scored_samples import ScoredSamples
from interloq.score.selection import SampleFilter
from interloq.score.signatures import read_known_signatures
from interloq.signature import Signature
from interloq.spec_text import split_label

ABOUT_SETS = "it scores sets of replies, not single ones"
OWN_REPLIES = "own-replies"  # the part of a signature that says whether they were dropped


@dataclass(slots=True)
class StoredScores:
    """The scores of files, the metrics that can be chosen by them, and why others cannot."""

    scores: list[Score] = field(default_factory=list)
    metrics: dict[str, Metric] = field(default_factory=dict)  # by their names in the scores
    excluded: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def of_rated(self, samples: Sequence[Sample], dialogues: Sequence[Dialogue]) -> list[Score]:
        """Return the scores of these samples or, with dialogues, of them and their utterances."""
        ids = {sample.id for sample in samples} | {dialogue.id for dialogue in dialogues}
        keys = SampleKeys(sample.key for sample in samples)
        scores = [s for s in self.scores if s.id in ids and (dialogues or keys.find(s.id, s.system))]
        if self.scores and not scores:
            raise InputError(
                f"none of the stored scores is of a rated {'dialogue' if dialogues else 'sample'}: "
                f"the first is of {format_key(self.scores[0].key)}",
                hint="score the file with the ratings: interloq score RATED -m METRIC -o SCORES",
            )
        return scores


def read_stored_scores(
    paths: Sequence[str | Path], records: Sequence[Sample | Dialogue], selection: SampleFilter, reading: ReadOptions
) -> StoredScores:
    """Read score files, and refuse them if they are of other replies or contexts than these records."""
    stored = StoredScores()
    checked = ScoredSamples(
        [record for record in records if isinstance(record, Sample)],
        dialogues=[record for record in records if isinstance(record, Dialogue)],
    )
    for path in paths:
        signatures = read_known_signatures(path)
        for score in checked.check_all([path], partial(reading.read_beside, kind="scores")):
            name = score.metric
            if name not in stored.metrics and name not in stored.excluded:
                _add_metric(stored, name, signatures.get(name), selection, path)
            if name in stored.metrics and not selection.excludes(score):
                stored.scores.append(score)
    stored.notes += checked.notes()
    return stored


def _add_metric(
    stored: StoredScores, name: str, signature: Signature | None, selection: SampleFilter, path: str | Path
) -> None:
    """Add a metric of a score file, or the reason why it is not a candidate."""
    try:
        metric: Metric = create(split_label(name)[1], kind="metric")
    except SpecError:
        stored.excluded[name] = "the metric is not registered here, so `score` could not compute it"
        return
    except InterloqError as error:
        stored.excluded[name] = str(error)
        return
    if isinstance(metric, SetMetric):
        stored.excluded[name] = ABOUT_SETS
    elif signature and any(part.reads_references for part in traits(metric)) and _differ(signature, selection):
        stored.excluded[name] = (
            f"references identical to the reply were treated differently when {path} was scored; "
            "use the same --drop-own-replies"
        )
    else:
        stored.metrics[name] = metric
        if isinstance(metric, FittedMetric) and signature and signature.parts.get("fitted"):
            stored.notes.append(
                f"{name}: its constants were fitted to all samples that were scored in {path}; "
                "`score` fits them to the samples that it is given"
            )


def _differ(signature: Signature, selection: SampleFilter) -> bool:
    return signature.parts.get(OWN_REPLIES, "") != selection.facts().get(OWN_REPLIES, "")

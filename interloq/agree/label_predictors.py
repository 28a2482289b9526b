# SPDX-License-Identifier: Apache-2.0
"""Scores as predictions of labels: the threshold above which a score predicts a reply, and the measures it gives.

half         .5, for scores that are all between 0 and 1
reply-ratio  the score at which the share of dev samples predicted to be answered is nearest to the share that was
             answered, as in the paper for metrics that are not probabilities; needs scores of the dev samples
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from interloq.agree.continuity_table import ContinuityRow, Threshold
from interloq.agree.judgments import Judgments, collect
from interloq.agree.score_columns import score_columns
from interloq.data.records.dialogue_names import name_dialogues
from interloq.metrics import metric_names
from interloq.metrics.metric import Array
from interloq.records import Sample, SampleKeys, Score
from interloq.score.selection import SampleFilter
from interloq.scorers.interlocutor.baselines import check_label
from interloq.statistics.binary import Labels, measure_auc, measure_decisions, measure_probabilities
from interloq.statistics.correlation import Counts
from interloq.statistics.estimate import Estimate

NO_THRESHOLD = "no threshold: scores are not between 0 and 1, and no dev sample has a score"
NO_PROBABILITY = "scores are not between 0 and 1"


@dataclass(frozen=True, slots=True)
class LabelledJudgments:
    """Samples in a fixed order with their labels (NaN if there is none) and dialogues."""

    judgments: Judgments
    labels: Array
    dialogues: Counts  # number of each sample's dialogue


def label_samples(samples: Iterable[Sample], aspect: str) -> LabelledJudgments:
    """Return samples with ratings of 0 or 1; a sample that names no dialogue is a dialogue of its own."""
    named = name_dialogues(list(samples))
    judgments = collect(named, aspect=aspect)
    labels = judgments.mean()
    for key, label in zip(judgments.keys, labels, strict=True):
        if not math.isnan(label):
            check_label(label, key, aspect)
    dialogue_of = {sample.key: sample.dialogue or f"sample {sample.id}" for sample in named}
    names = [dialogue_of[key] for key in judgments.keys]
    return LabelledJudgments(judgments, labels, np.asarray(np.unique(names, return_inverse=True)[1], dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Predictor:
    """One metric's scores of labelled samples, with the sign changed if lower is better."""

    metric: str
    scores: Array  # NaN if unscored
    thresholds: Mapping[Threshold, float]
    probable: bool  # whether all scores may be probabilities
    sign: int = 1

    def rows(self, samples: LabelledJudgments, chosen: Labels, n_bootstrap: int, seed: int) -> Iterator[ContinuityRow]:
        """Yield one row per threshold, over the chosen samples."""
        known = chosen & ~np.isnan(samples.labels)
        used = known & ~np.isnan(self.scores)
        scores, labels = self.scores[used], samples.labels[used] == 1
        cluster = np.asarray(np.unique(samples.dialogues[used], return_inverse=True)[1], dtype=np.int64)
        how = cluster, n_bootstrap, seed
        shared = {
            "auc": measure_auc(scores, labels, *how),
            **_make_undefined_estimates(("ece", "brier"), len(scores), NO_PROBABILITY),
        }
        if self.probable:
            shared |= measure_probabilities(scores, labels, *how)
        thresholds: Mapping[Threshold, float] = self.thresholds or {"none": math.nan}
        for threshold, cut in thresholds.items():
            measures = _make_undefined_estimates(("accuracy", "macro_f1"), len(scores), NO_THRESHOLD)
            predicted = math.nan
            if not math.isnan(cut):
                measures = measure_decisions(scores >= cut, labels, *how)
                if len(scores):
                    predicted = float(np.mean(scores >= cut))
            yield ContinuityRow(
                metric=self.metric,
                threshold=threshold,
                cut=self.sign * cut,
                measures={**measures, **shared},
                predicted=predicted,
                unscored=int(known.sum() - used.sum()),
            )


def predictors(
    scores: Sequence[Score], test: LabelledJudgments, dev: LabelledJudgments | None, lower_is_better: bool | None = None
) -> tuple[list[Predictor], list[str]]:
    """Return the metrics in the scores of test and dev samples; and notes on scores that belong to no sample."""
    held = SampleKeys(dev.judgments.keys if dev else ())
    test_scores: list[Score] = []
    dev_scores: list[Score] = []
    for score in scores:
        part = test_scores if held.find(score.id, score.system) is None else dev_scores
        part.append(score)
    columns, notes = score_columns(test_scores, test.judgments, SampleFilter())
    of_dev: dict[str, Array] = {}
    if dev and dev_scores:
        of_dev, _ = score_columns(dev_scores, dev.judgments, SampleFilter())
    for name in of_dev.keys() - columns.keys():
        notes.append(f"{name}: only dev samples have scores, so it is not evaluated")
    by_metric = []
    for name, column in columns.items():
        sign = -1 if metric_names.direction(name, lower_is_better) == "lower" else 1
        by_metric.append(_predictor(name, column, of_dev.get(name), dev, sign))
    return by_metric, notes


def _predictor(
    metric: str, scores: Array, dev_scores: Array | None, dev: LabelledJudgments | None, sign: int
) -> Predictor:
    known = np.concatenate([scores, dev_scores if dev_scores is not None else []])
    known = known[~np.isnan(known)]
    probable = sign > 0 and bool(((known >= 0) & (known <= 1)).all())
    thresholds: dict[Threshold, float] = {"half": 0.5} if probable else {}
    if dev is not None and dev_scores is not None and not np.isnan(dev_scores + dev.labels).all():
        thresholds["reply-ratio"] = ratio_threshold(sign * dev_scores, dev.labels)
    return Predictor(metric, sign * scores, thresholds, probable, sign)


def ratio_threshold(scores: Array, labels: Array) -> float:
    """Return the score such that the share of scores at or above it is nearest to the share of labels that are 1."""
    both = ~np.isnan(scores + labels)
    ordered, ratio = np.sort(scores[both]), labels[both].mean()
    values = np.unique(ordered)
    shares = 1 - np.searchsorted(ordered, values) / len(ordered)
    return float(values[np.argmin(np.abs(shares - ratio))])


def _make_undefined_estimates(measures: Iterable[str], n: int, why: str) -> dict[str, Estimate]:
    return {measure: Estimate(math.nan, n, note=why) for measure in measures}

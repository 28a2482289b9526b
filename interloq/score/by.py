# SPDX-License-Identifier: Apache-2.0
"""A rater made from a metric: the metric scores each reference as if it were the reply.

w = 2 · P − 1,  P the metric's score of the reference after the sample's context

P is the score itself if scores are probabilities, or the position on a scale. Otherwise `pairs` names a log on which
scores are converted to probabilities without labels (docs/rate.md):

P(the true reply) = σ(slope · z + offset),  z = Φ⁻¹(rank of the score among the examples' scores / (examples + 1))

`PAIRS` pairs of the log are drawn at random. Each gives two examples: its utterance with its own reply, and with the
reply of another of these pairs. The curve is fitted by Platt scaling (1999) with its targets, (n + 1) / (n + 2) and
1 / (n + 2), so that it is finite even if the metric separates all n. Between the examples P is interpolated; a score
below or above all of them has the P of the nearest example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import Annotated

import numpy as np

from interloq.data.records.jsonl import read
from interloq.errors import InputError, SpecError, count
from interloq.learn.calibrate import probabilities
from interloq.metrics.combined.ruber import identify_part
from interloq.metrics.metric import Array, FittedMetric, Metric, SetMetric
from interloq.metrics.traits import traits
from interloq.rate.network_rater import Gold
from interloq.rate.rater import Rater
from interloq.rate.summary import folder_warning
from interloq.records import Pair, Reference, Sample
from interloq.registry import field_value, name_of
from interloq.retrieve.leaks import is_original, reads_like
from interloq.signature import Signature, file_fingerprint, signature

UNRATED = 0.0  # weight of a reference that cannot be rated
PAIRS, FEWEST = 1_000, 20  # pairs drawn for the calibration, and the fewest that are enough
SEED = 0


@dataclass(frozen=True)
class By(Rater, name="by"):
    """Weight references by the scores of a metric."""

    places = ("pairs",)
    scorer: Annotated[Metric, "a metric that needs no references, such as `relevance(model='scorer')`"] = field(
        metadata={"kind": "metric"}
    )
    pairs: Annotated[
        str, "log of pairs to calibrate scores on; required unless scores are probabilities or ratings on a scale"
    ] = ""
    gold: Annotated[Gold, "gold replies have weight 1, or are rated like the others"] = "one"

    def __post_init__(self) -> None:
        super().__post_init__()
        if reason := _unfit(self.scorer):
            raise SpecError(f"by: {name_of(self.scorer)} {reason}; choose a metric such as relevance(model='scorer')")
        if not (self.pairs or self.scorer.is_probability or self.scorer.scale):
            raise SpecError(
                f"by: scores of {name_of(self.scorer)} are not probabilities; "
                "give a log to calibrate them on: pairs='pairs.jsonl'"
            )

    def rate(self, samples: Sequence[Sample]) -> list[Sample]:
        replies: dict[Sample, None] = {}
        for sample in samples:
            for reference in sample.references:
                if self._is_rated(reference):
                    replies[_reply(sample, reference)] = None
        weights = self._weights(list(replies))
        return [self._weigh(sample, weights) for sample in samples]

    def signature(self) -> Signature:
        pairs = self._calibration.source if self._calibration else ""
        return signature(self, scorer=identify_part(self.scorer), pairs=pairs)

    def warning(self) -> str:
        """Return a warning if the metric is a trained network with weak dev figures; otherwise empty."""
        return folder_warning(field_value(self.scorer, "model") or "", scaled=True)

    def _is_rated(self, reference: Reference) -> bool:
        return self.gold == "rated" or not is_original(reference)

    def _weights(self, replies: Sequence[Sample]) -> dict[Sample, float]:
        """Return the weight of each reply that the metric can score."""
        scores = scores_of(self.scorer, replies)
        if self._calibration:
            chances = self._calibration.chances(scores)
        else:
            low, high = self.scorer.scale or (0.0, 1.0)
            chances = (scores - low) / (high - low)
        weights = (2 * np.clip(chances, 0, 1) - 1).tolist()
        return {reply: weight for reply, weight in zip(replies, weights, strict=True) if not isnan(weight)}

    def _weigh(self, sample: Sample, weights: Mapping[Sample, float]) -> Sample:
        """Return the sample with the weights of its references."""
        replies = [_reply(sample, reference) for reference in sample.references]
        ratable = any(self.scorer.unscorable(reply) is None for reply in replies)
        gold = 1.0 if ratable else UNRATED
        references = []
        for reference, reply in zip(sample.references, replies, strict=True):
            weight = weights.get(reply, UNRATED) if self._is_rated(reference) else gold
            references.append(replace(reference, weight=weight))
        return replace(sample, references=tuple(references))

    @cached_property
    def _calibration(self) -> ScoreCalibration | None:
        return calibrate(self.scorer, self.pairs) if self.pairs else None


def _reply(sample: Sample, reference: Reference) -> Sample:
    """Return the reference as a reply to score, without an id, so that equal contexts and references score once."""
    return Sample("", sample.context, reference.text)


def _unfit(metric: Metric) -> str:
    """Return why a metric cannot rate references; empty if it can."""
    if isinstance(metric, SetMetric):
        return "scores sets of replies, not single ones"
    if metric.of == "dialogue":
        return "scores whole dialogues, not replies"
    if metric.direction == "neither":
        return "does not say whether higher or lower is better"
    if any(part.reads_references for part in traits(metric)):
        return "needs references itself"
    if isinstance(metric, FittedMetric):
        return "depends on the whole set of samples"
    return ""


@dataclass(frozen=True, eq=False)
class ScoreCalibration:
    """P(the true reply) at some scores, in ascending order, and the fingerprint of the log."""

    scores: Array
    probabilities: Array
    source: str

    def chances(self, scores: Array) -> Array:
        """Return the probability of a true reply at each score; NaN stays NaN."""
        return np.interp(scores, self.scores, self.probabilities)


def calibrate(metric: Metric, log: str) -> ScoreCalibration:
    """Fit the curve to a metric's scores of true and of other replies, from a file of pairs."""
    pairs = _draw_pairs(log)
    shifted = pairs[len(pairs) // 2 :] + pairs[: len(pairs) // 2]
    true_replies, wrong_replies = [], []
    for pair, other in zip(pairs, shifted, strict=True):
        if not (reads_like(pair.utterance, other.utterance) or reads_like(pair.response, other.response)):
            true_replies.append(Sample("", [pair.utterance], pair.response))
            wrong_replies.append(Sample("", [pair.utterance], other.response))
    true, wrong = scores_of(metric, true_replies), scores_of(metric, wrong_replies)
    known = np.isfinite(true) & np.isfinite(wrong)
    if known.sum() < FEWEST:
        raise InputError(
            f"{count(int(known.sum()), 'pair')} with replies that {name_of(metric)} can score, {FEWEST} are needed",
            hint="use a larger log",
            where=log,
        )
    scores, fitted = _curve(true[known], wrong[known])
    if fitted[0] >= fitted[-1]:
        raise InputError(
            f"{name_of(metric)} does not score true replies above replies from elsewhere",
            hint="rate with another metric, or use a log that is like the dialogues to be judged",
            where=log,
        )
    return ScoreCalibration(scores, fitted, file_fingerprint(Path(log)))


def scores_of(metric: Metric, replies: Sequence[Sample]) -> Array:
    """Return one score per reply, higher is better; NaN for replies that the metric cannot score."""
    scored = [i for i, reply in enumerate(replies) if metric.unscorable(reply) is None]
    sign = -1 if metric.direction == "lower" else 1
    scores = np.full(len(replies), np.nan)
    scores[scored] = sign * metric.value(metric.stats([replies[i] for i in scored]))
    return scores


def _draw_pairs(log: str) -> list[Pair]:
    """Draw up to `PAIRS` pairs, each equally likely (reservoir sampling)."""
    rng, drawn = np.random.default_rng(SEED), list[Pair]()
    for seen, pair in enumerate(read(log, kind="pairs", strict=True)):
        if seen < PAIRS:
            drawn.append(pair)
        elif (place := int(rng.integers(seen + 1))) < PAIRS:
            drawn[place] = pair
    return drawn


def _curve(true: Array, wrong: Array) -> tuple[Array, Array]:
    """Return the distinct scores of true and wrong replies, and P(the true reply) at each of them."""
    from scipy.optimize import minimize
    from scipy.special import ndtri
    from scipy.stats import rankdata

    scores, n = np.concatenate([true, wrong]), len(true)
    columns = np.stack([ndtri(rankdata(scores) / (2 * n + 1)), np.ones(2 * n)])
    targets = np.repeat([(n + 1) / (n + 2), 1 / (n + 2)], n)

    def cross_entropy(curve: Array) -> tuple[float, Array]:
        logits = curve @ columns
        loss = np.logaddexp(0, logits) - targets * logits
        return float(loss.mean()), columns @ (probabilities(logits) - targets) / (2 * n)

    curve = minimize(cross_entropy, np.zeros(2), jac=True, method="BFGS").x
    distinct, first = np.unique(scores, return_index=True)
    return distinct, probabilities(curve @ columns[:, first])

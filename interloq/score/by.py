# SPDX-License-Identifier: Apache-2.0
"""A rater made from a metric: the metric scores each reference as if it were the reply.

w = 2 · P − 1,  P the metric's score of the reference after the sample's context

Any metric that scores a reply without references can be used. If its scores are probabilities (`relevance`, `valid`,
`nsp`, `bert_ruber`), P is the score itself. If they are ratings on a scale (`llm_judge`), P is the position on it, as
for people's ratings: P = (score − lowest) / (highest − lowest). Otherwise `pairs` names a log on which scores are
converted to probabilities without labels: P(the true reply rather than one from elsewhere in the log), see
calibration.py. If lower scores are better (`perplexity`), they are negated first.

The gold reply is not read, so samples without one are rated too. `gold='one'` (default): gold replies weigh 1;
`gold='rated'`: they are rated like the rest. A reference that the metric cannot score weighs 0. If it can score none of
a sample's references, because there is no context, all of them weigh 0, and weighted metrics leave the sample unscored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan
from typing import Annotated

import numpy as np

from interloq.errors import SpecError
from interloq.metrics.combined.ruber import foundation
from interloq.metrics.metric import FittedMetric, Metric, SetMetric, judges_dialogues
from interloq.metrics.traits import traits
from interloq.rate.network_rater import Gold
from interloq.rate.summary import folder_warning
from interloq.records import Reference, Sample
from interloq.registry import Component, name_of
from interloq.retrieve.leaks import is_original
from interloq.score.by_calibration import ScoreCalibration, calibrate, scores_of
from interloq.signature import Signature, signature

UNRATED = 0.0  # weight of a reference that cannot be rated


@dataclass(frozen=True)
class By(Component):
    """Weights from the scores of a metric."""

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
        if not (self.pairs or getattr(self.scorer, "is_probability", False) or hasattr(self.scorer, "scale")):
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
        return signature(self, scorer=foundation(self.scorer), pairs=pairs)

    def warning(self) -> str:
        """Return a warning if the metric is a trained network with weak dev figures; otherwise empty."""
        return folder_warning(str(getattr(self.scorer, "model", "")), scaled=True)

    def _is_rated(self, reference: Reference) -> bool:
        return self.gold == "rated" or not is_original(reference)

    def _weights(self, replies: Sequence[Sample]) -> dict[Sample, float]:
        """Return the weight of each reply that the metric can score."""
        scores = scores_of(self.scorer, replies)
        if self._calibration:
            chances = self._calibration.chances(scores)
        else:
            low, high = getattr(self.scorer, "scale", (0.0, 1.0))
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
    if judges_dialogues(metric):
        return "scores whole dialogues, not replies"
    if getattr(metric, "direction", "higher") == "neither":
        return "does not say whether higher or lower is better"
    if any(part.reads_references for part in traits(metric)):
        return "needs references itself"
    if isinstance(metric, FittedMetric):
        return "depends on the whole set of samples"
    return ""

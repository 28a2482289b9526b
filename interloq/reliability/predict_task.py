# SPDX-License-Identifier: Apache-2.0
"""Reliability predicted in shards: the score of each sample, without what depends on the other samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from interloq.data.records.jsonl import record_line
from interloq.records import Sample, Score
from interloq.reliability.model import Effects, why_undefined
from interloq.reliability.ready_fit import TrainedModel, load_trained
from interloq.reliability.reliability_options import PredictOptions
from interloq.reliability.weak_references import contexts_and_references, metric_name
from interloq.shards.task import Compute


@dataclass
class PredictTask:
    """The model that predicts."""

    options: PredictOptions
    signature: str = ""
    _loaded: TrainedModel | None = None

    @property
    def model(self) -> TrainedModel:
        """The model, loaded once per process."""
        if self._loaded is None:
            self._loaded = load_trained(self.options.model, self.options.encoder, self.options.device)
        return self._loaded

    def identify(self) -> str:
        return str(self.model.signature())

    def open(self) -> Compute:
        model, name = self.model, metric_name(self.model.metric)

        def predict(samples: Sequence[Sample]) -> bytes:
            keys = list(zip(*contexts_and_references(samples), strict=True))
            distinct = list(dict.fromkeys(keys))  # predicted once per shard
            contexts, reference_sets = zip(*distinct, strict=True)
            effects = dict(zip(distinct, model.leave_one_out(contexts, reference_sets), strict=True))
            scores = [_score(sample, effects[key], name) for sample, key in zip(samples, keys, strict=True)]
            return b"".join(map(record_line, scores))

        return predict

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_loaded": None}


def _score(sample: Sample, effects: Effects, name: str) -> Score:
    value = float(effects.whole.mean)
    if math.isnan(value):
        (context,), (references,) = contexts_and_references([sample])
        return Score(sample.id, name, None, why_undefined(context, references), sample.system)
    details: dict[str, Any] = {"low": null_if_nan(float(effects.whole.low))}
    details["high"] = null_if_nan(float(effects.whole.high))
    pairs = zip(effects.effect.mean.tolist(), effects.references, strict=True)
    known = sorted(pair for pair in pairs if not math.isnan(pair[0]))
    details["references"] = len(effects.references)
    if known and known[-1][0] > 0:  # the references whose removal lowers and raises the prediction most
        details["helps"] = {"text": known[-1][1], "effect": known[-1][0]}
    if known and known[0][0] < 0:
        details["harms"] = {"text": known[0][1], "effect": known[0][0]}
    return Score(sample.id, name, value, "", sample.system, details)


def null_if_nan(value: float) -> float | None:
    """Return a number for JSON."""
    return None if math.isnan(value) else value

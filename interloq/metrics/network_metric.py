# SPDX-License-Identifier: Apache-2.0
"""Bases of metrics that run a network, in general and to score how well a reply fits its context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from interloq.data.text.language import certain_language, language_name
from interloq.learn.ready import LANGUAGE
from interloq.metrics.metric import Array, Metric, replies, score_rows
from interloq.records import Sample
from interloq.registry import name_of
from interloq.signature import NETWORK

NO_CONTEXT = "no context"
ANY_LANGUAGE = "also score replies that are clearly in a language which the network does not know"


class NetworkMetric(Metric):
    """Base of metrics that run the network named by their field `model`."""

    places: ClassVar[tuple[str, ...]] = ("model",)
    libraries = NETWORK

    def network(self) -> Any:
        """Return the network; it has a signature."""
        raise NotImplementedError

    def built_with(self) -> str:
        return str(self.network().signature())


@dataclass(frozen=True)
class ContextReply(NetworkMetric):
    """Scores replies by a network; an empty reply has the lowest score. A set's score is the mean over samples."""

    is_probability = True
    lowest: ClassVar[float] = 0.0
    reads_all_turns: ClassVar[bool] = False  # whether any turn with text is enough of a context, not only the last one
    model: Annotated[str, "folder of the trained network"]

    def network_scores(self, samples: Sequence[Sample]) -> Array:
        """Return the network's scores of samples whose replies have text, given the last turn of the context."""
        scores: Array = self.network().scores([sample.context[-1].text for sample in samples], replies(samples))
        return scores

    def unscorable(self, sample: Sample) -> str | None:
        if self.reads_all_turns:
            for turn in sample.context:
                if turn.text.strip():
                    return None
            return NO_CONTEXT
        return needs_context(sample)

    def stats(self, samples: Sequence[Sample]) -> Array:
        scores = np.array([np.nan if self.unscorable(sample) else self.lowest for sample in samples])
        filled = [i for i, sample in enumerate(samples) if scores[i] == self.lowest and sample.response.strip()]
        scores[filled] = self.network_scores([samples[i] for i in filled])
        return score_rows(scores)


TRAINED_BY = {"judge": "interloq train judge rated.jsonl --scorer relevance -o judge"}


def knows_language(metric: Metric, sample: Sample, *, trainable: bool = True) -> str | None:
    """Return why a reply is unscored if it is certainly in a language that the metric's network does not know, or None.

    If the metric is `trainable`, the reason names the command that trains a network for another language. Networks are
    only asked about replies that are certainly not in English, because this may load them.
    """
    language = certain_language(sample.response)
    if language in ("", "en") or metric.language != LANGUAGE:
        return None
    name = name_of(metric)
    reason = f"reply in {language_name(language)}, and {name}'s network knows {LANGUAGE} only"
    if not trainable:
        return reason
    command = TRAINED_BY.get(name, f"interloq train {name} log.jsonl --encoder encoder -o {name}")
    return f"{reason}; train your own: {command}, see docs/metrics/relevance.md#japanese-and-chinese"


def needs_context(sample: Sample) -> str | None:
    """Return why a sample without an utterance to answer is unscored, or None."""
    return None if sample.context and sample.context[-1].text.strip() else NO_CONTEXT

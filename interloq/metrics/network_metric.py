# SPDX-License-Identifier: Apache-2.0
"""Bases of metrics that run a network, in general and to score how well a reply fits its context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from interloq.metrics.metric import Array, Metric, replies, score_rows
from interloq.records import Sample
from interloq.signature import NETWORK

NO_CONTEXT = "no context"


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


def needs_context(sample: Sample) -> str | None:
    """Return why a sample without an utterance to answer is unscored, or None."""
    return None if sample.context and sample.context[-1].text.strip() else NO_CONTEXT

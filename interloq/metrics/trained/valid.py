# SPDX-License-Identifier: Apache-2.0
"""Valid: P(the reply is a well-formed utterance), regardless of the context; the VUP of Phy et al. (2020).

`model` is a folder written by `interloq train valid`. The encoder reads the reply alone; it is trained to tell replies
of logs from the same replies with words shuffled, dropped or repeated. An empty reply scores 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from interloq.metrics.context_reply import ContextReply
from interloq.metrics.metric import Array, replies
from interloq.models.loaded import loaded
from interloq.needs import Needs
from interloq.records import Sample


@dataclass(frozen=True)
class Valid(ContextReply, name="valid"):
    """Whether the reply is a well-formed utterance."""

    papers = ("phy-etal-2020-deconstruct",)
    needs = Needs(fields={"model": "a trained scorer; make one: interloq train valid PAIRS -o FOLDER"}, extra="encoder")

    def network(self) -> Any:
        return loaded("metric 'valid'", "interloq.scorers.relevance.model:ValidScorer.load", self.model)

    def network_scores(self, samples: Sequence[Sample]) -> Array:
        scores: Array = self.network().of(replies(samples))
        return scores

    def unscorable(self, sample: Sample) -> str | None:  # noqa: ARG002
        """None: every reply can be scored, without a context."""
        return None

"""Valid: P(the reply is a well-formed utterance), whatever it answers; the VUP of Phy et al. (2020).

`model` is a folder that `interloq train valid` has written. The encoder reads the reply alone; it has learned to tell
replies of logs from the same replies with words shuffled, left out or said again. An empty reply is scored 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from interloq.metrics.context_reply import ContextReply
from interloq.metrics.metric import Array
from interloq.models.loaded import loaded
from interloq.records import Sample


@dataclass(frozen=True)
class Valid(ContextReply):
    """Whether the reply is a well-formed utterance."""

    def network(self) -> Any:
        return loaded("metric 'valid'", "interloq.scorers.relevance.model:ValidScorer.load", self.model)

    def asked(self, samples: Sequence[Sample]) -> Array:
        found: Array = self.network().of([sample.response for sample in samples])
        return found

    def unscorable(self, sample: Sample) -> str | None:  # noqa: ARG002
        """No context is needed."""
        return None

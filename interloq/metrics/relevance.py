"""Relevance: P(the reply belongs here), from a cross-encoder that reads the context and the reply together.

`model` is a folder that `interloq train relevance` has written; `turns` is how many turns of the context are read, None
as many as in training. An empty reply is scored 0: it belongs nowhere. See `interloq.models.relevance_task` for what
the network learns from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from interloq.errors import MissingDependencyError, SpecError
from interloq.metrics.metric import Array, mean_value, score_rows
from interloq.metrics.ruber_unreferenced import NO_CONTEXT
from interloq.records import Sample
from interloq.registry import Component


@dataclass(frozen=True)
class Relevance(Component):
    model: str
    turns: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.turns is not None and self.turns < 1:
            raise SpecError(f"relevance: turns must be at least 1, got {self.turns}")

    def built_with(self) -> str:
        return str(_scorer(self.model).signature())

    def unscorable(self, sample: Sample) -> str | None:
        return None if any(turn.text.strip() for turn in sample.context) else NO_CONTEXT

    def stats(self, samples: Sequence[Sample]) -> Array:
        scores = np.array([np.nan if self.unscorable(sample) else 0.0 for sample in samples])
        filled = [i for i, sample in enumerate(samples) if scores[i] == 0 and sample.response.strip()]
        contexts = [[turn.text for turn in samples[i].context] for i in filled]
        replies = [samples[i].response for i in filled]
        scores[filled] = _scorer(self.model).scores(contexts, replies, turns=self.turns)
        return score_rows(scores)

    def value(self, total: Array) -> Array:
        return mean_value(total)


def _scorer(folder: str) -> Any:
    """The scorer of a folder, kept for all that name it; it is loaded anew once the folder was written again."""
    place = Path(folder).resolve()
    facts = place / "model.json"
    return _kept(place, facts.stat().st_mtime_ns if facts.exists() else 0)


@lru_cache(maxsize=2)
def _kept(folder: Path, written: int) -> Any:  # noqa: ARG001 - the time is part of the key
    try:
        from interloq.models.relevance import RelevanceScorer
    except ImportError as error:
        raise MissingDependencyError("metric 'relevance'", error.name or "torch", "encoder") from error
    return RelevanceScorer.load(folder)

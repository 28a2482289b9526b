"""RUBER's unreferenced scorer (Tao et al., 2018): does the reply go with the utterance before it?

s_U = σ( MLP([q; qᵀ M r; r]) ), with q and r the Bi-GRU vectors of the last turn of the context and of the reply; see
`interloq.models.ruber` for the network. `model` is a folder that `interloq train ruber` has written. An empty reply
is scored 0: it goes with nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from interloq.errors import MissingDependencyError
from interloq.metrics.metric import Array, mean_value, score_rows
from interloq.records import Sample
from interloq.registry import Component

NO_CONTEXT = "no context"


@dataclass(frozen=True)
class RuberUnreferenced(Component):
    model: str

    def built_with(self) -> str:
        return str(_scorer(self.model).signature())

    def unscorable(self, sample: Sample) -> str | None:
        return None if sample.context and sample.context[-1].text.strip() else NO_CONTEXT

    def stats(self, samples: Sequence[Sample]) -> Array:
        filled = np.array([bool(sample.response.strip()) for sample in samples], dtype=bool)
        scored = [sample for sample, has in zip(samples, filled, strict=True) if has]
        scores = np.zeros(len(samples))
        scores[filled] = _scorer(self.model).scores(
            [sample.context[-1].text for sample in scored], [sample.response for sample in scored]
        )
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
        from interloq.models.ruber import RuberScorer
    except ImportError as error:
        raise MissingDependencyError("metric 'ruber_unreferenced'", error.name or "torch", "rater") from error
    return RuberScorer.load(folder)

"""A metric whose scores stand in the reply, and replies with references of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from interloq import Sample, evaluate
from interloq.metrics.metric import Array, Metric, score_rows

REPLIES = ["the cat sat on the mat", "i like green tea a lot", "see you on monday then"]
OWN = [
    ["the cat sat on a mat", "a cat was on the mat"],
    ["i like tea a lot", "green tea for me"],
    ["until monday then", "see you monday"],
]


@dataclass(frozen=True)
class Given(Metric):
    """The score at a place of the reply "0.5 -2"; `n/a` is unscored."""

    place: int

    def unscorable(self, sample: Sample) -> str | None:
        return f"no score {self.place}" if sample.response.split()[self.place] == "n/a" else None

    def stats(self, samples: Sequence[Sample]) -> Array:
        return score_rows(np.array([float(sample.response.split()[self.place]) for sample in samples], dtype=float))


def given_samples(*scores: tuple[Any, Any]) -> list[Sample]:
    return [Sample(f"{i:03}", ["how ?"], f"{first} {second}") for i, (first, second) in enumerate(scores)]


def scores(metric: Any, samples: Sequence[Sample]) -> list[float]:
    return list(evaluate(metric, samples).by_sample.values())

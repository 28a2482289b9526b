"""Small parts of USL-H and a chat."""

from __future__ import annotations

from interloq import Sample, evaluate
from interloq.metrics.metric import Metric

REPLIES = ["it was a very good day .", "no", "we saw the film there again .", "how was it ?", "no", "a a a day"]
USUAL = {"likelihood": [-8.0, -4.0], "surprise": [10.0, 40.0]}


def chat(replies: list[str] = REPLIES) -> list[Sample]:
    return [Sample(f"{i:02}", ["how was it ?"], reply) for i, reply in enumerate(replies)]


def scores(metric: Metric, samples: list[Sample]) -> list[float]:
    return list(evaluate(metric, samples).by_sample.values())

"""A small encoder, language model and chat for AM-FM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interloq import Reference, Sample, evaluate

REPLIES = [
    "it was a very good day .",
    "no idea , sorry .",
    "we saw the film there again .",
    "日本語",
    "it",
    "how was it ?",
    "x" * 300,
]


def chat(context: Sequence[str] = ("hi .", "how was it ?")) -> list[Sample]:
    references = [Reference("it was good ."), Reference("no , sorry .", 0.3), Reference("we saw the film .")]
    return [Sample(f"{i:02}", context, reply, references[: 1 + i % 3]) for i, reply in enumerate(REPLIES)]


def scores(metric: Any, samples: list[Sample]) -> list[float]:
    return list(evaluate(metric, samples).by_sample.values())


def said(*pairs: tuple[Any, Any]) -> list[Sample]:
    return [Sample(f"{i:03}", ["how ?"], f"{first} {second}") for i, (first, second) in enumerate(pairs)]

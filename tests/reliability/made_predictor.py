"""A predictor without a network: a set is reliable if its references have many different words of the query's topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from interloq.reliability.labels import NONE, distinct_texts
from tests.reliability.made_queries import TOPICS

WORDS = sorted({word for topic in TOPICS for word in topic.split()})


class Prediction(NamedTuple):
    mean: Any
    low: Any
    high: Any


class Effects(NamedTuple):
    references: tuple[str, ...]
    effect: Prediction
    whole: Prediction


class MadePredictor:
    """Reliability = (topic words in the set − half the number of references without any) / 10."""

    metric = "bleu_star"

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.facts: dict[str, Any] = {}

    def warning(self) -> str:
        return "made up"

    def signature(self) -> str:
        return "reliability-made"

    def check_metric(self, metric: Any) -> None:
        assert metric

    def encode(self, pairs: Sequence[tuple[tuple[str, ...], str]]) -> Any:
        return np.array([[word in text.split() for word in WORDS] for _, text in pairs], dtype=float).reshape(
            -1, len(WORDS)
        )

    def project(self, vectors: Any) -> Any:
        return vectors

    def make_projected(self) -> MadePredictor:
        return self

    def predict_sets(self, vectors: Any, sets: Any) -> Prediction:
        self.calls.append(len(sets))
        return _all([_value(vectors[row[row != NONE]]) for row in sets])

    def predict(self, queries: Sequence[Sequence[str]], reference_sets: Sequence[Sequence[str]]) -> Prediction:
        self.calls.append(len(queries))
        return _all([self._of(q, distinct_texts(some)) for q, some in zip(queries, reference_sets, strict=True)])

    def leave_one_out(self, queries: Sequence[Sequence[str]], reference_sets: Sequence[Sequence[str]]) -> list[Effects]:
        return [self._effects(q, distinct_texts(some)) for q, some in zip(queries, reference_sets, strict=True)]

    def _effects(self, query: Sequence[str], texts: tuple[str, ...]) -> Effects:
        without = [self._of(query, texts[:i] + texts[i + 1 :]) for i in range(len(texts))]
        value = self._of(query, texts)
        return Effects(texts, _all([value - other for other in without]), Prediction(value, value - 0.1, value + 0.1))

    def _of(self, query: Sequence[str], texts: Sequence[str]) -> float:
        rows = self.encode([(tuple(query), text) for text in texts])
        return _value(rows) if any(turn.strip() for turn in query) else np.nan


def _value(rows: Any) -> float:
    return float(rows.any(axis=0).sum() - 0.5 * (~rows.any(axis=1)).sum()) / 10 if len(rows) else np.nan


def _all(values: Sequence[float]) -> Prediction:
    mean = np.array(values, dtype=float)
    return Prediction(mean, mean - 0.1, mean + 0.1)


def use(monkeypatch: Any) -> MadePredictor:
    """Load this predictor from every folder."""
    made = MadePredictor()
    monkeypatch.setattr("interloq.reliability.model.Reliability.load", lambda *_, **__: made)
    return made

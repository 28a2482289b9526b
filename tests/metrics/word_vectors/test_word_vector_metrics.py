"""Metrics that compare word vectors."""

from __future__ import annotations

import math

import pytest

from interloq import Sample, evaluate
from interloq.metrics.word_vectors.bags_of_vectors import WordVectorMetric
from interloq.metrics.word_vectors.word_vector_metrics import (
    EmbeddingAverage,
    GreedyMatching,
    RuberReferenced,
    VectorExtrema,
)
from tests.metrics.made_contracts import COSINE, Contract

CONTRACTS = {
    "embedding_average": Contract(
        COSINE, variants=["embedding_average(vectors='letters',unknown='mean')"], required="vectors='letters'"
    ),
    "greedy_matching": Contract(
        COSINE, variants=["greedy_matching(vectors='letters',unknown='mean')"], required="vectors='letters'"
    ),
    "ruber_referenced": Contract(
        COSINE, variants=["ruber_referenced(vectors='letters',unknown='mean')"], required="vectors='letters'"
    ),
    "vector_extrema": Contract(
        COSINE, variants=["vector_extrema(vectors='letters',unknown='mean')"], required="vectors='letters'"
    ),
}


@pytest.mark.parametrize(
    ("metric", "reply", "references", "expected"),
    [
        (EmbeddingAverage, "a", ["b"], 24 / 25),
        (EmbeddingAverage, "a b", ["a"], 7 * (3 + 4) / (7 * math.sqrt(2) * 5)),  # (7, 7) with (3, 4)
        (EmbeddingAverage, "a a c", ["b"], (1 * 4 + 8 * 3) / (math.sqrt(65) * 5)),  # (1, 8)
        (EmbeddingAverage, "a", ["c", "b", "minus"], 24 / 25),  # the nearest of three
        (GreedyMatching, "a c", ["b"], ((24 / 25 - 4 / 5) / 2 + 24 / 25) / 2),
        (GreedyMatching, "a a c", ["b"], ((2 * 24 / 25 - 4 / 5) / 3 + 24 / 25) / 2),  # every occurrence counts
        (GreedyMatching, "a c", ["b", "c a"], 1),
        (GreedyMatching, "a", ["c minus"], (-3 / 5 + (-3 / 5 - 4 / 5) / 2) / 2),  # nothing is floored at 0
        (RuberReferenced, "a b", ["a"], (4 * 3 + 4 * 4 + 3 * 3 + 3 * 4) / (math.sqrt(50) * math.sqrt(50))),
        (RuberReferenced, "a c", ["b"], (3 * 4 + 4 * 3 - 5 * 4 + 0) / (math.sqrt(50) * math.sqrt(50))),
        (VectorExtrema, "a c", ["b"], (-5 * 4 + 4 * 3) / (math.sqrt(41) * 5)),  # (−5, 4)
        (VectorExtrema, "a b minus", ["a b minus"], 1),  # (4, 4)
        (VectorExtrema, "c minus", ["a"], (-5 * 3 - 2 * 4) / (math.sqrt(29) * 5)),  # (−5, −2): a reply turned away
    ],
)
def test_scores_worked_out_by_hand(
    metric: type[WordVectorMetric], reply: str, references: list[str], expected: float, by_hand: str
) -> None:
    result = evaluate(metric(by_hand), [Sample("x", (), reply, references)])
    assert result.value == pytest.approx(expected, abs=1e-12)

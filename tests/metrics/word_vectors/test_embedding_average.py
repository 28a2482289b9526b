"""Embedding Average by hand: the cosine of mean vectors, of the nearest reference."""

from __future__ import annotations

import math

import pytest

from interloq import Sample, evaluate
from interloq.metrics.word_vectors.embedding_average import EmbeddingAverage


@pytest.mark.parametrize(
    ("reply", "references", "expected"),
    [
        ("a", ["b"], 24 / 25),
        ("a b", ["a"], 7 * (3 + 4) / (7 * math.sqrt(2) * 5)),  # (7, 7) with (3, 4)
        ("a a c", ["b"], (1 * 4 + 8 * 3) / (math.sqrt(65) * 5)),  # (1, 8)
        ("a", ["c", "b", "minus"], 24 / 25),  # the nearest of three
    ],
)
def test_scores_worked_out_by_hand(reply: str, references: list[str], expected: float, by_hand: str) -> None:
    result = evaluate(EmbeddingAverage(by_hand), [Sample("x", (), reply, references)])
    assert result.value == pytest.approx(expected, abs=1e-12)

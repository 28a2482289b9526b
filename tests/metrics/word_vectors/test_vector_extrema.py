"""Vector Extrema by hand: the cosine of the most extreme values."""

from __future__ import annotations

import math

import pytest

from interloq import Sample, evaluate
from interloq.metrics.word_vectors.vector_extrema import VectorExtrema


@pytest.mark.parametrize(
    ("reply", "references", "expected"),
    [
        ("a c", ["b"], (-5 * 4 + 4 * 3) / (math.sqrt(41) * 5)),  # (−5, 4)
        ("a b minus", ["a b minus"], 1),  # (4, 4)
        ("c minus", ["a"], (-5 * 3 - 2 * 4) / (math.sqrt(29) * 5)),  # (−5, −2): a reply turned away
    ],
)
def test_scores_worked_out_by_hand(reply: str, references: list[str], expected: float, by_hand: str) -> None:
    result = evaluate(VectorExtrema(by_hand), [Sample("x", (), reply, references)])
    assert result.value == pytest.approx(expected, abs=1e-12)

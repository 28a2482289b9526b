"""RUBER's referenced half by hand: the cosine of [max; min]."""

from __future__ import annotations

import math

import pytest

from interloq import Sample, evaluate
from interloq.metrics.word_vectors.ruber_referenced import RuberReferenced


@pytest.mark.parametrize(
    ("reply", "references", "expected"),
    [
        ("a b", ["a"], (4 * 3 + 4 * 4 + 3 * 3 + 3 * 4) / (math.sqrt(50) * math.sqrt(50))),
        ("a c", ["b"], (3 * 4 + 4 * 3 - 5 * 4 + 0) / (math.sqrt(50) * math.sqrt(50))),
    ],
)
def test_scores_worked_out_by_hand(reply: str, references: list[str], expected: float, by_hand: str) -> None:
    result = evaluate(RuberReferenced(by_hand), [Sample("x", (), reply, references)])
    assert result.value == pytest.approx(expected, abs=1e-12)

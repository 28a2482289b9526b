"""Greedy Matching by hand: each word with its nearest, both ways."""

from __future__ import annotations

import pytest

from interloq import Sample, evaluate
from interloq.metrics.word_vectors.greedy_matching import GreedyMatching


@pytest.mark.parametrize(
    ("reply", "references", "expected"),
    [
        ("a c", ["b"], ((24 / 25 - 4 / 5) / 2 + 24 / 25) / 2),
        ("a a c", ["b"], ((2 * 24 / 25 - 4 / 5) / 3 + 24 / 25) / 2),  # every occurrence counts
        ("a c", ["b", "c a"], 1),
        ("a", ["c minus"], (-3 / 5 + (-3 / 5 - 4 / 5) / 2) / 2),  # nothing is floored at 0
    ],
)
def test_scores_worked_out_by_hand(reply: str, references: list[str], expected: float, by_hand: str) -> None:
    result = evaluate(GreedyMatching(by_hand), [Sample("x", (), reply, references)])
    assert result.value == pytest.approx(expected, abs=1e-12)

"""Arithmetic that all retrievers share."""

from __future__ import annotations

import numpy as np
import pytest

from interloq.retrieve.retriever import NOTHING, Words, best, fields, joint


def test_lengths_count_repeats() -> None:
    words = Words(np.array([1, 2, 3], dtype=np.uint64), np.array([2, 1, 4], dtype=np.int32), np.array([0, 2, 2, 3]))
    assert words.lengths.tolist() == [3, 0, 4]
    assert len(words) == 3


def test_the_best_come_first_and_of_equals_the_earlier() -> None:
    ids = np.array([[5, 3, 9, NOTHING]])
    scores = np.array([[0.5, 0.5, 0.7, -np.inf]], dtype=np.float32)
    found, values = best(ids, scores, 3)
    assert found.tolist() == [[9, 3, 5]]
    assert values.tolist() == [[np.float32(0.7), 0.5, 0.5]]
    assert best(ids, scores, 9)[0].tolist() == [[9, 3, 5, NOTHING]]


@pytest.mark.parametrize(("alpha", "expected"), [(1.0, 0.4), (0.0, 0.08), (0.5, 0.24)])
def test_the_joint_similarity_is_the_formula(alpha: float, expected: float) -> None:
    one, other = np.array([0.8], dtype=np.float32), np.array([0.5], dtype=np.float32)
    assert joint(one, other, alpha=alpha, epsilon=0.1) == pytest.approx(expected)


def test_the_texts_that_are_compared() -> None:
    assert fields("utterance") == ("utterance",)
    assert fields("both") == ("utterance", "response")

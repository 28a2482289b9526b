"""Recall of approximate search."""

from __future__ import annotations

import numpy as np
import pytest

from interloq.retrieve.recall import as_probes, choose_effort, share_of_scores, share_reaching


def test_probes_are_unit_vectors_near_stored_ones() -> None:
    stored = np.eye(3, dtype=np.float32)
    probes = as_probes(stored)
    assert np.linalg.norm(probes, axis=1) == pytest.approx(1)
    assert (probes @ stored.T).argmax(axis=1).tolist() == [0, 1, 2]
    assert not (probes[:, None] == stored).all(axis=2).any()
    assert as_probes(np.zeros((2, 3), dtype=np.float32)).tolist() == [[0, 0, 0]] * 2


def test_the_least_effort_that_is_enough() -> None:
    asked = []

    def recall(effort: int) -> float:
        asked.append(effort)
        return effort / 10

    assert choose_effort([2, 5, 8, 9], recall, 0.5) == (5, 0.5)
    assert asked == [2, 5]
    assert choose_effort([2, 5], recall, 0.9) == (5, 0.5), "the last one if none is enough"
    assert choose_effort([], recall, 0.9) == (0, 0.0)


def test_equal_scores_are_interchangeable() -> None:
    truth = np.array([[0.9, 0.5], [0.8, 0.8]], dtype=np.float32)
    found = np.array([[0.9, 0.5 - 1e-6], [0.8, 0.1]], dtype=np.float32)
    assert share_reaching(found, truth) == 0.75
    assert share_of_scores(np.array([[0.9, 0.5], [0.8, 0.7]]), np.array([[0.5, 0.9], [0.8, 0.8]])) == 0.75

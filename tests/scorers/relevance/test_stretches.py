"""Contexts cut from stored exchanges."""

from __future__ import annotations

import numpy as np

from interloq.scorers.relevance.examples import NONE, Exchanges
from interloq.scorers.relevance.stretches import Stretches, context_lengths, join_contexts

LENGTHS = np.array([2, 1, 3], dtype=np.uint16)
CONTEXTS = np.array([[NONE, 0], [1, 2], [2, 0]], dtype=np.int32)
END = 9


def make_exchanges() -> Exchanges:
    """Three texts, 10 11 | 20 | 30 31 32, and three contexts of them."""
    none = np.zeros(3, dtype=np.int32)
    tokens = np.array([10, 11, 20, 30, 31, 32], dtype=np.uint16)
    arrays = (CONTEXTS, none, none, none.astype(np.uint8), CONTEXTS, none, none)
    return Exchanges(tokens, LENGTHS, none, *arrays, facts={"dev": 0})


def test_turns_are_joined_by_separators_and_cut_at_the_front() -> None:
    stored, every = make_exchanges(), np.arange(3)
    whole = join_contexts(stored, every, END, 99)
    assert [whole[i].tolist() for i in range(3)] == [[10, 11], [20, END, 30, 31, 32], [30, 31, 32, END, 10, 11]]
    assert whole.lengths.tolist() == context_lengths(stored, CONTEXTS).tolist() == [2, 5, 6]
    cut = join_contexts(stored, np.array([2, 0]), END, 4)
    assert [cut[i].tolist() for i in range(2)] == [[32, END, 10, 11], [10, 11]]


def test_some_texts_are_replaced() -> None:
    texts = Stretches(np.array([1, 2, 3, 4]), np.array([1, 2, 1]))
    replaced = texts.replace_texts({1: np.array([7, 8, 9])})
    assert [replaced[i].tolist() for i in range(3)] == [[1], [7, 8, 9], [4]]
    assert [texts[i].tolist() for i in range(3)] == [[1], [2, 3], [4]]
    assert texts.replace_texts({}) is texts

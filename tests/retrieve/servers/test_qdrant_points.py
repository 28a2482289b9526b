"""Points of Qdrant: BM25 as sparse vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from interloq.retrieve.retriever import Words
from interloq.retrieve.servers.qdrant_points import PointRanking, as_queries, as_stored, fold

pytest.importorskip("httpx")


TERMS = arrays.arrays(np.uint64, st.integers(1, 20), elements=st.integers(0, 2**64 - 1), unique=True)


@given(TERMS, st.data())
def test_weights_are_bm25s(terms: Any, data: st.DataObject) -> None:
    """One text between two others; words that share a number are added up."""
    counts = np.array(data.draw(st.lists(st.integers(1, 50), min_size=len(terms), max_size=len(terms))), dtype=np.int32)
    words = Words(np.tile(terms, 3), np.tile(counts, 3), np.arange(4) * len(terms))
    (stored,) = as_stored("utterance", words, slice(1, 2), PointRanking(1.5, 0.6, {"utterance": 9.0}))
    length, expected = int(counts.sum()), dict[int, float]()
    for term, n in zip(terms.tolist(), counts.tolist(), strict=True):
        number = (term & 0xFFFFFFFF) ^ (term >> 32)
        expected[number] = expected.get(number, 0) + n * (1.5 + 1) / (n + 1.5 * (1 - 0.6 + 0.6 * length / 9.0))
    assert dict(zip(stored["indices"].tolist(), stored["values"].tolist(), strict=True)) == pytest.approx(
        expected, rel=1e-5
    )
    query = as_queries(words)[0]
    assert len(set(query["indices"].tolist())) == len(query["indices"])
    assert math.isclose(query["values"].sum(), length, rel_tol=1e-6)


def test_two_words_with_one_number_are_one() -> None:
    words = Words(np.array([5, 5 << 32, 7], dtype=np.uint64), np.array([1, 2, 4], dtype=np.int32), np.array([0, 3, 3]))
    assert fold(words.terms).tolist() == [5, 5, 7]
    first, second = as_queries(words)
    assert first["indices"].tolist() == [5, 7]
    assert first["values"].tolist() == [3, 4]
    assert second["indices"].tolist() == []

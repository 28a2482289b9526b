from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import create
from interloq.retrieve.diversity import diversified, mmr, similarities

TEXTS = ["a b c", "a b", "c d e f", "", "a b c", "x"]


def literal(relevance: list[float], similarity: list[list[float]], k: int, diversity: float) -> list[int]:
    """Carbonell and Goldstein's rule, candidate by candidate, with λ = 1 − diversity."""
    chosen: list[int] = []
    while len(chosen) < min(k, len(relevance)):
        best, best_gain = -1, -np.inf
        for i in range(len(relevance)):
            if i in chosen:
                continue
            penalty = max(similarity[i][j] for j in chosen) if chosen else 0.0
            gain = (1 - diversity) * relevance[i] - diversity * penalty if chosen else relevance[i]
            if gain > best_gain:
                best, best_gain = i, gain
        chosen.append(best)
    return chosen


@given(st.integers(1, 8), st.integers(1, 10), st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.integers(0, 10**6))
def test_mmr_is_the_literal_rule(n: int, k: int, diversity: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    relevance = np.sort(rng.integers(0, 5, n) / 4)[::-1]  # with ties
    rows = rng.integers(-4, 5, (n, n)) / 4
    similarity = (rows + rows.T) / 2
    found = mmr(relevance, similarity, k, diversity=diversity)
    assert found == literal(relevance.tolist(), similarity.tolist(), k, diversity)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 10**6))
def test_without_diversity_the_order_stays(n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    relevance = np.sort(rng.random(n))[::-1]
    assert mmr(relevance, rng.random((n, n)), k, diversity=0.0) == list(range(min(n, k)))


def test_a_repeated_reply_comes_last() -> None:
    scores, replies = [0.9, 0.89, 0.5, 0.4], ["yes i did", "yes i did", "not at all", "who asks"]
    for name in ("dense(encoder='fake512')", "bm25"):
        encoded = create(name).encode(replies)
        assert diversified(scores, encoded, 3, diversity=0.5) == [0, 2, 3]
        assert diversified(scores, encoded, 4, diversity=0.5)[-1] == 1
        assert diversified(scores, encoded, 3, diversity=0.0) == [0, 1, 2]


def test_scores_count_relative_to_the_best() -> None:
    replies = create("bm25").encode(["a b", "a c", "d e"])
    small, large = ([3 * s for s in (1.0, 0.8, 0.6)], [300 * s for s in (1.0, 0.8, 0.6)])
    assert diversified(small, replies, 2, diversity=0.4) == diversified(large, replies, 2, diversity=0.4) == [0, 2]


def test_similarity_of_words_is_jaccard() -> None:
    found = similarities(create("bm25").encode(TEXTS))
    for i, first in enumerate(TEXTS):
        for j, second in enumerate(TEXTS):
            a, b = set(first.split()), set(second.split())
            assert found[i, j] == pytest.approx(len(a & b) / len(a | b) if a | b else 0.0)


def test_similarity_of_vectors_is_the_cosine() -> None:
    vectors = create("dense(encoder='fake16')").encode(TEXTS)
    found = similarities(vectors)
    for i, first in enumerate(vectors):
        for j, second in enumerate(vectors):
            cosine = sum(float(a) * float(b) for a, b in zip(first, second, strict=True))
            assert found[i, j] == pytest.approx(max(cosine, 0.0), abs=1e-6)

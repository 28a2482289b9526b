"""Similar texts by BM25."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from interloq.data.text.token_texts import Texts
from interloq.retrieve.similar import near


def test_near_is_bm25_without_frequent_tokens_and_first_ranks() -> None:
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 40, rng.integers(1, 9)).tolist() for _ in range(60)]
    documents = packed(rows)
    asked = rows[:5]
    found = near(documents, packed(asked), 6)
    for query, places in zip(asked, found.tolist(), strict=True):
        scores = literal_bm25(query, rows)
        best = sorted((i for i in range(60) if scores[i] > 0), key=lambda i: (-scores[i], i))[4:10]
        assert [scores[i] for i in places if i >= 0] == pytest.approx([scores[i] for i in best], rel=1e-4)


def packed(rows: list[list[int]]) -> Texts:
    return Texts(
        np.array([token for row in rows for token in row], dtype=np.int32),
        np.concatenate([[0], np.cumsum([len(r) for r in rows])]),
    )


def literal_bm25(query: list[int], rows: list[list[int]]) -> list[float]:
    df = Counter(token for row in rows for token in set(row))
    mean = sum(map(len, rows)) / len(rows)
    scores = []
    for row in rows:
        total = 0.0
        for token in query:
            if df[token] <= 10 and (tf := row.count(token)):
                idf = np.log1p((len(rows) - df[token] + 0.5) / (df[token] + 0.5))
                total += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * len(row) / mean))
        scores.append(total)
    return scores

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from interloq import InputError, Sample, create
from interloq.records import Pair
from interloq.retrieve import reversed_bm25
from interloq.retrieve.extend import extend, query
from interloq.retrieve.retriever import Query
from interloq.retrieve.reversed_bm25 import ReversedBm25

WORDS = ["i", "you", "see", "dog", "cat", "rain", "sun", "again", "never", "film"]


def texts(rng: np.random.Generator, n: int) -> list[str]:
    return [" ".join(rng.choice(WORDS, rng.integers(0, 9))) for _ in range(n)]


@pytest.fixture
def pool() -> list[Pair]:
    rng = np.random.default_rng(0)
    return [Pair(str(i), u, r) for i, (u, r) in enumerate(zip(texts(rng, 300), texts(rng, 300), strict=True))]


@pytest.fixture
def items() -> tuple[Query, ...]:
    rng = np.random.default_rng(1)
    return tuple(dict.fromkeys(Query(u, r) for u, r in zip(texts(rng, 12), texts(rng, 12), strict=True)))


def literal(line: str, item: str, items: list[str], k1: float, b: float) -> float:
    """BM25 of one test item for one line of the log as the query, word by word."""
    documents = [text.split() for text in items]
    mean = sum(map(len, documents)) / len(documents)
    document, score = item.split(), 0.0
    for word in line.split():
        df = sum(word in other for other in documents)
        tf = document.count(word)
        idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
        score += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(document) / mean)) if tf else 0.0
    return score


@pytest.mark.parametrize("piece", [1, 7, 8192])
@pytest.mark.parametrize("spec", ["bm25", "bm25(target='both',k1=0.9,b=0.4)", "bm25(target='both',alpha=1)"])
def test_equals_a_literal_computation(
    pool: list[Pair], items: tuple[Query, ...], spec: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reversed_bm25, "PIECE", piece)
    bm25 = create(spec)
    found = ReversedBm25(items, lambda: pool, bm25).search(items, 15)
    for item, hits in zip(items, found, strict=True):
        expected = {}
        for pair in pool:
            score = literal(pair.utterance, item.utterance, [i.utterance for i in items], bm25.k1, bm25.b)
            if bm25.target == "both":
                own = literal(pair.response, item.response, [i.response for i in items], bm25.k1, bm25.b)
                score *= bm25.alpha * own + (1 - bm25.alpha) * bm25.epsilon
            expected[pair.id] = score
        order = sorted(expected.values(), reverse=True)
        positive = [score for score in order if score > 0][:15]
        assert [hit.score for hit in hits] == pytest.approx(positive, rel=1e-5)
        assert [expected[hit.pair.id] for hit in hits] == pytest.approx(positive, rel=1e-5)
        assert len({hit.pair.id for hit in hits}) == len(hits)


def test_idf_comes_from_all_items_and_the_log_is_read_once(pool: list[Pair], items: tuple[Query, ...]) -> None:
    readings = []

    def opened() -> Iterator[Pair]:
        readings.append(1)
        yield from pool

    index = ReversedBm25(items, opened, create("bm25"))
    whole = index.search(items, 5)
    assert len(readings) == 1
    assert index.search(items[3:5], 5) == whole[3:5]


def test_only_its_own_items_can_be_searched(pool: list[Pair], items: tuple[Query, ...]) -> None:
    with pytest.raises(InputError, match="own test items"):
        ReversedBm25(items, lambda: pool, create("bm25")).search([Query("else")], 5)


def test_items_without_words_find_nothing(pool: list[Pair]) -> None:
    assert ReversedBm25((Query(""),), lambda: pool, create("bm25")).search([Query("")], 5) == [[]]


def test_extending_with_it(pool: list[Pair], items: tuple[Query, ...]) -> None:
    samples = [Sample(f"s{i}", [item.utterance], "x", [item.response or "none"]) for i, item in enumerate(items)]
    queries = tuple(dict.fromkeys(query(sample) for sample in samples))
    index = ReversedBm25(queries, lambda: pool, create("bm25"))
    extended = list(extend(samples, index, layout="code", batch=len(samples)))
    assert all(len(sample.references) <= 15 for sample in extended)
    full = next(sample for sample in extended if len(sample.references) == 15)
    assert [r.source.split(":")[0] for r in full.references] == ["parrot", "gold"] + ["retrieved"] * 13

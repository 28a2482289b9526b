from __future__ import annotations

import random

import pytest

from interloq.records import Pair
from interloq.retrieve import jaccard
from interloq.retrieve.jaccard import JaccardSearch
from interloq.retrieve.leaks import jaccard as similarity
from interloq.retrieve.leaks import words
from interloq.retrieve.retriever import Query

WORDS = ["we", "saw", "a", "dog", "film", "again", "very", "good", "bad", "day", "雨", "が"]


def log(n: int) -> list[Pair]:
    rng = random.Random(n)
    return [Pair(f"p{i}", " ".join(rng.choices(WORDS, k=rng.randint(0, 6))), f"reply {i}") for i in range(n)]


@pytest.mark.parametrize("numbers", [1, 2**24])
def test_equals_a_comparison_of_every_pair(numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaccard, "NUMBERS", numbers)
    pairs = log(300)
    queries = [Query(pair.utterance) for pair in log(20)] + [Query("unknown words only"), Query("")]
    for query, hits in zip(queries, JaccardSearch(pairs).search(queries, 25), strict=True):
        scored = [(similarity(words(query.utterance), words(pair.utterance)), i) for i, pair in enumerate(pairs)]
        best = sorted((row for row in scored if row[0] > 0), key=lambda row: (-row[0], row[1]))[:25]
        assert [hit.pair.id for hit in hits] == [f"p{i}" for _, i in best]
        assert [hit.score for hit in hits] == pytest.approx([score for score, _ in best])


def test_more_than_the_log_and_an_empty_log() -> None:
    assert len(JaccardSearch([Pair("p", "a dog", "yes")]).search([Query("dog")], 50)[0]) == 1
    assert JaccardSearch([]).search([Query("dog")], 5) == [[]]

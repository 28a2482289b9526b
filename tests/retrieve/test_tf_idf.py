"""Retrieval by TF-IDF: indexes of one and of several segments, compared with scikit-learn's formula in plain Python."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest

from interloq import InputError, create
from interloq.play.bot import ask_bot
from interloq.records import Pair, Turn
from interloq.retrieve.index import create_index
from interloq.retrieve.retriever import Query
from interloq.retrieve.store_address import create_store
from interloq.retrieve.tf_idf import TfIdf

TEXTS = [
    "do you like tea",
    "do you like green tea or black tea",
    "i saw the sea today",
    "the train was late today",
    "tea tea tea",
    "",
]
PAIRS = [Pair(str(i), text, f"reply {i}") for i, text in enumerate(TEXTS)]
SPEC = "tfidf(tokenizer='whitespace')"


def _vector(text: str) -> dict[str, float]:
    df = Counter(word for other in TEXTS for word in set(other.split()))
    weights = {}
    for word, n in Counter(text.split()).items():
        weights[word] = n * (1 + math.log((1 + len(TEXTS)) / (1 + df[word])))
    norm = math.sqrt(sum(weight**2 for weight in weights.values()))
    return {word: weight / norm for word, weight in weights.items()}


def _cosine(first: str, second: str) -> float:
    one, other = _vector(first), _vector(second)
    return sum(weight * other.get(word, 0.0) for word, weight in one.items())


@pytest.mark.parametrize("segments", [[6], [2, 3, 1]])
@pytest.mark.parametrize("query", ["black tea", "the sea today today", "you unknown"])
def test_scores_are_cosines(tmp_path: Path, query: str, segments: list[int]) -> None:
    index, first = create_index(tmp_path / "index", SPEC), 0
    for number, n in enumerate(segments):
        index.add(PAIRS[first : first + n], source=str(number))
        first += n
    (hits,) = index.search([Query(query)], k=6)
    expected = {text: _cosine(query, text) for text in TEXTS if _cosine(query, text) > 0}
    assert {hit.pair.utterance: hit.score for hit in hits} == pytest.approx(expected, abs=1e-6)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_text_is_most_similar_to_itself(tmp_path: Path) -> None:
    index = create_index(tmp_path / "index", SPEC)
    index.add(PAIRS, source="log")
    for text, (best, *_) in zip(TEXTS[:5], index.search([Query(text) for text in TEXTS[:5]], k=1), strict=True):
        assert best.pair.utterance == text
        assert best.score == pytest.approx(1.0, abs=1e-6)


def test_the_bot_on_this_index_answers_with_the_reply(tmp_path: Path) -> None:
    create_index(tmp_path / "index", SPEC).add(PAIRS, source="log")
    bot = create(f"retrieval(index='{tmp_path / 'index'}')", kind="bot")
    (reply,) = ask_bot(bot, [[Turn("Was the train late again?")]], [1])
    assert reply.text == "reply 3"
    assert "tfidf(" in str(bot.signature())


def test_servers_refuse_it() -> None:
    with pytest.raises(InputError, match="a server cannot search by tfidf; name a folder, or choose bm25 or dense"):
        create_store("qdrant://127.0.0.1:1/log", TfIdf())

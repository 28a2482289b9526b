"""The contract of a store, held by all three: a folder, Qdrant and PostgreSQL. What is expected is computed here."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from interloq import InputError, create
from interloq.records import Pair
from interloq.retrieve import store_address
from interloq.retrieve.index import Index, create_index, open_index
from interloq.retrieve.retriever import NOTHING, Query, Store
from interloq.retrieve.store_address import open_store

DENSE, BM25 = "dense(encoder='fake64')", "bm25"
RETRIEVERS = [DENSE, BM25, "dense(encoder='fake64',target='both',alpha=0.7,epsilon=0.2)", "bm25(target='both')"]
WORDS = [f"w{i}" for i in range(400)]
CHANCES = [1 / (i + 3) for i in range(len(WORDS))]


def made(n: int, *, seed: int) -> list[Pair]:
    """Pairs of different texts, so that few scores are equal."""
    rng = Random(seed)
    texts: dict[str, None] = {}
    while len(texts) < 2 * n:
        texts[" ".join(rng.choices(WORDS, CHANCES, k=rng.randint(3, 14)))] = None
    several = iter(texts)
    return [Pair(f"p{i}", next(several), next(several), f"u{i // 2}", f"t{i // 3}", "2017-01-01") for i in range(n)]


PAIRS = made(600, seed=0)
QUERIES = [Query(pair.utterance, pair.response) for pair in made(25, seed=1)]
ODD = [
    Pair("1", "こんにちは 世界 🙂", "𠮷野家 \u200d\u202e…", "a", "b", "c"),
    Pair("2", "", ""),
    Pair("3", "quotes \" ' \\ and {braces} %s %(x)s", "line\nbreak\r\n\ttab"),
    Pair("4", "a null \x00 byte", "'; DROP TABLE pairs; --"),
    Pair("5", "w1 " * 5_000, "é e\u0301"),
]


@pytest.fixture(params=["folder", "qdrant", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store may be made. Qdrant gets the mean length of texts, which is its own otherwise, and one shard."""
    if request.param == "folder":
        return str(tmp_path / "index")
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_address"))
    base = request.getfixturevalue("qdrant_address")
    return f"{base}?shards=1&utterance_length={mean_length('utterance')}&response_length={mean_length('response')}"


@cache
def mean_length(side: str) -> float:
    return float(np.mean([len(getattr(pair, side).split()) for pair in PAIRS]))


@cache
def expected(retriever: Any, side: str) -> np.ndarray[Any, Any]:
    """The score of every pair's side for every query, by the formulas alone."""
    stored = [getattr(pair, side) for pair in PAIRS]
    asked = [getattr(query, side) for query in QUERIES]
    if retriever.built_with().startswith("fake"):
        vectors = [np.asarray(retriever.encode(texts), dtype=np.float64) for texts in (asked, stored)]
        return np.asarray(vectors[0] @ vectors[1].T)
    texts = [Counter(text.split()) for text in stored]
    holding = Counter(word for text in texts for word in text)
    return np.array(
        [[bm25(Counter(query.split()), text, holding, mean_length(side)) for text in texts] for query in asked]
    )


def bm25(
    query: Counter[str], text: Counter[str], holding: Counter[str], mean: float, k1: float = 1.2, b: float = 0.75
) -> float:
    score = 0.0
    for word, n in query.items():
        idf = math.log(1 + (len(PAIRS) - holding[word] + 0.5) / (holding[word] + 0.5))
        score += n * idf * text[word] * (k1 + 1) / (text[word] + k1 * (1 - b + b * text.total() / mean))
    return score


def joined(retriever: Any) -> np.ndarray[Any, Any]:
    utterance = expected(retriever, "utterance")
    if retriever.target == "utterance":
        return utterance
    response = np.maximum(expected(retriever, "response"), 0)
    constant = (1 - retriever.alpha) * retriever.epsilon
    return np.asarray(np.maximum(utterance, 0) * (retriever.alpha * response + constant))


def assert_best(index: Index, scores: np.ndarray[Any, Any], k: int) -> None:
    """The k best scores, each of them the score of its pair; pairs that score alike may stand for each other."""
    for row, hits in zip(scores, index.search(QUERIES, k), strict=True):
        wanted = np.sort(row)[::-1][:k]
        wanted = wanted[wanted > 0]
        assert [hit.score for hit in hits] == pytest.approx(wanted, rel=1e-4, abs=1e-5)
        assert [row[int(hit.pair.id[1:])] for hit in hits] == pytest.approx(
            [hit.score for hit in hits], rel=1e-4, abs=1e-5
        )
        assert len({hit.pair.id for hit in hits}) == len(hits)


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_finds_what_brute_force_finds(address: str, retriever: str) -> None:
    index = create_index(address, retriever)
    assert index.add(PAIRS, source="log", segment=250) == len(PAIRS)
    assert_best(open_index(address), joined(index.retriever), 15)


@pytest.mark.parametrize("retriever", [DENSE, BM25])
def test_adding_goes_on_where_it_stopped(address: str, retriever: str) -> None:
    index = create_index(address, retriever)
    assert index.add(PAIRS[:100], source="log", segment=40) == 100
    assert index.add(PAIRS[:350], source="log", segment=90) == 250, "the first hundred are in"
    again = create_index(address, retriever)
    assert again.add(PAIRS[:350], source="log") == 0
    assert again.add(PAIRS[350:], source="more") == 250
    assert again.store.sources() == {"log": 350, "more": 250}
    assert open_index(address).store.pairs(range(len(PAIRS))) == PAIRS
    assert_best(open_index(address), joined(index.retriever), 15)
    with pytest.raises(InputError, match="had 350 pairs before and now has 10"):
        again.add(PAIRS[:10], source="log")


def test_what_another_client_added_is_not_added_again(address: str) -> None:
    first, second = create_index(address, DENSE), create_index(address, DENSE)
    first.add(PAIRS[:30], source="a")
    assert second.add(PAIRS[:40], source="a") == 10
    assert first.add(PAIRS[:40], source="a") == 0
    if "://" in address:  # servers have no lock, but refuse a batch that does not follow
        encoded: dict[Any, Any] = {"utterance": first.retriever.encode([pair.utterance for pair in PAIRS[:10]])}
        with pytest.raises(InputError, match="the batch follows 30 pairs of its source, but 40 are stored"):
            first.store.add(PAIRS[:10], encoded, source="a", consumed=40)
    assert open_index(address).store.pairs(range(40)) == PAIRS[:40]


@pytest.mark.parametrize("retriever", [DENSE, "bm25(target='both')"])
def test_pairs_come_back_as_they_were(address: str, retriever: str) -> None:
    create_index(address, retriever).add(ODD, source="odd", segment=2)
    opened = open_index(address)
    assert len(opened.store) == len(ODD)
    assert opened.store.pairs(range(len(ODD))) == ODD
    assert opened.store.pairs([4, 0, 4]) == [ODD[4], ODD[0], ODD[4]]
    (hits,) = opened.search([Query("世界 こんにちは", "𠮷野家")], 3)
    assert hits[0].pair == ODD[0]


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_little_to_find(address: str, retriever: str) -> None:
    index = create_index(address, retriever)
    assert index.search([Query("w1")]) == [[]], "an empty index finds nothing"
    index.add(PAIRS[:7], source="log")
    assert index.search([Query("", ""), Query(" \n", "w1")], 5) == [[], []]
    (hits,) = index.search([Query(PAIRS[0].utterance, PAIRS[0].response)], 1_000)
    assert hits[0].pair == PAIRS[0]
    assert len({hit.pair.id for hit in hits}) == len(hits) <= 7
    assert index.search([], 5) == []


@pytest.mark.parametrize("retriever", [DENSE, BM25])
def test_scores_are_those_of_nearest(address: str, retriever: str) -> None:
    index = create_index(address, retriever)
    index.add(PAIRS, source="log", segment=200)
    queries = index.retriever.encode([query.utterance for query in QUERIES])
    ids, scores = index.store.nearest("utterance", queries, 20)
    assert index.store.scores("utterance", queries, ids) == pytest.approx(scores, rel=1e-5, abs=1e-6)
    mixed = np.concatenate([ids[:, ::-1], np.full((len(ids), 2), NOTHING)], axis=1)
    again = index.store.scores("utterance", queries, mixed)
    assert again[:, :20] == pytest.approx(scores[:, ::-1], rel=1e-5, abs=1e-6)
    assert (again[:, 20:] <= 0).all(), "an empty place is not a candidate"


@pytest.mark.parametrize("retriever", [DENSE, BM25])
def test_fewer_than_asked_for_leaves_empty_places(address: str, retriever: str) -> None:
    index = create_index(address, retriever)
    index.add(PAIRS[:4], source="log")
    queries = index.retriever.encode([PAIRS[0].utterance, ""])
    ids, scores = index.store.nearest("utterance", queries, 9)
    assert ids.shape == scores.shape
    assert 4 <= ids.shape[1] <= 9
    assert ids[0, 0] == 0
    assert (ids[0, 4:] == NOTHING).all()
    assert np.isneginf(scores[0, 4:]).all()
    assert (np.diff(scores[0, :4]) <= 0).all()
    assert not (scores[1] > 0).any()


def test_another_retriever_is_refused(address: str) -> None:
    create_index(address, "bm25").add(PAIRS[:5], source="log")
    for other in ("bm25(k1=2.0)", "bm25(tokenizer='char')", "bm25(target='both')", DENSE):
        with pytest.raises(InputError, match=r"another retriever.*build a new index"):
            create_index(address, other)
    store, retriever = open_store(address)
    assert retriever == create("bm25")
    assert len(store) == 5


def test_another_model_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    create_index(address, "bm25").add(PAIRS[:5], source="log")
    retriever = create("bm25")
    monkeypatch.setattr(type(retriever), "built_with", lambda _: "13a of a later version")
    with pytest.raises(InputError, match=r"another model or tokenizer: '13a.*later version.*build a new index"):
        open_index(address)
    with pytest.raises(InputError, match="another model or tokenizer"):
        create_index(address, "bm25")


def test_approximate_search_finds_what_it_says(address: str) -> None:
    pairs = made(3_000, seed=3)
    exact, near = _both_ways(address, pairs)
    queries = near.retriever.encode([query.utterance for query in QUERIES])
    _, truth = exact.store.nearest("utterance", queries, 15)
    ids, scores = near.store.nearest("utterance", queries, 15)
    assert (ids != NOTHING).all()
    recall = float(np.mean(scores >= truth[:, -1:] - 1e-2))  # a folder keeps vectors in 8 bits
    assert recall > 0.8
    assert (near.store.manifest.recall or 0) >= 0.9


def _both_ways(address: str, pairs: Sequence[Pair]) -> tuple[Index, Index]:
    """The same pairs in a store that compares all of them, and in one that does not."""
    near = create_index(address, DENSE, exact_up_to=1_000, recall=0.9)
    near.add(pairs, source="log")
    stored = np.asarray(near.retriever.encode([pair.utterance for pair in pairs]))
    return Index(_Exact(stored), near.retriever), open_index(address)  # type: ignore[arg-type]


class _Exact:
    def __init__(self, stored: np.ndarray[Any, Any]) -> None:
        self.stored = stored

    def nearest(self, _: str, queries: np.ndarray[Any, Any], k: int) -> tuple[Any, Any]:
        scores = queries @ self.stored.T
        ids = np.argsort(-scores, axis=1)[:, :k]
        return ids, np.take_along_axis(scores, ids, axis=1)


def test_no_index_there(address: str) -> None:
    with pytest.raises(InputError, match=r"no index .*; make one: interloq index build"):
        open_index(address)


def test_another_package_adds_a_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_store.py").write_text(
        "from interloq.retrieve.folder.folder_store import Embedded\n"
        "class Mine(Embedded):\n"
        "    def __init__(self, address, retriever=None): super().__init__(address.partition('//')[2], retriever)\n"
        "    @classmethod\n"
        "    def create(cls, address, retriever, *, exact_up_to=5, recall=.9):\n"
        "        Embedded.create(address.partition('//')[2], retriever, exact_up_to=exact_up_to)\n"
        "        return cls(address, retriever)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    theirs = EntryPoint("mine", "their_store:Mine", "interloq.stores")
    monkeypatch.setattr(store_address, "entry_points", lambda group: [theirs] if group == theirs.group else [])
    store_address._schemes.cache_clear()
    try:
        create_index(f"mine://{tmp_path}/index", BM25).add(PAIRS[:5], source="log")
        opened = open_index(f"mine://{tmp_path}/index")
        assert type(opened.store).__name__ == "Mine"
        assert len(opened.store) == 5
    finally:
        store_address._schemes.cache_clear()


def test_the_documented_skeleton_is_a_store() -> None:
    page = (Path(__file__).parents[2] / "docs" / "servers.md").read_text()
    (skeleton,) = [part.partition("```")[0] for part in page.split("```python\n")[1:] if "class Elastic" in part]
    named: dict[str, Any] = {}
    exec(skeleton, named)  # noqa: S102
    for method in ("add", "nearest", "scores", "pairs", "sources", "finish", "__len__"):
        ours, theirs = (inspect.signature(vars(store)[method]) for store in (Store, named["Elastic"]))
        assert list(ours.parameters) == list(theirs.parameters), method

"""An index: what a store and a retriever do together."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, SpecError
from interloq.records import Pair
from interloq.retrieve.index import create_index, open_index
from interloq.retrieve.retriever import Query

PAIRS = [Pair(str(i), f"how is the {word}", f"the {word} is fine") for i, word in enumerate(["cat", "dog", "sea"])]


def test_a_source_is_added_once_and_may_grow(tmp_path: Path) -> None:
    index, seen = create_index(tmp_path / "index", "bm25"), list[int]()
    assert index.add(PAIRS[:2], source="log", segment=1) == 2
    assert index.add(PAIRS, source="log", progress=seen.append) == 1
    assert seen == [2, 1], "what was there before counts as done"
    with pytest.raises(InputError, match="3 pairs before and now has 1"):
        index.add(PAIRS[:1], source="log")
    assert index.add(PAIRS[:1], source="another") == 1


def test_only_what_shares_something_is_a_hit(tmp_path: Path) -> None:
    create_index(tmp_path / "index", "bm25").add(PAIRS, source="log")
    found = open_index(tmp_path / "index").search([Query("the dog"), Query("zzz"), Query("")], k=9)
    assert found[0][0].pair == PAIRS[1]
    assert all(hit.score > 0 for hit in found[0])
    assert found[1:] == [[], []]


def test_both_sides_may_count(tmp_path: Path) -> None:
    index = create_index(tmp_path / "index", "bm25(target='both',alpha=1.0)")
    index.add(PAIRS, source="log")
    (hits,) = index.search([Query("how is the cat", "the cat is fine")], k=1)
    assert hits[0].pair == PAIRS[0]


def test_an_empty_index_finds_nothing_and_k_is_positive(tmp_path: Path) -> None:
    index = create_index(tmp_path / "index", "bm25")
    assert index.search([Query("a")]) == [[]]
    with pytest.raises(InputError, match="k must be at least 1, got 0"):
        index.search([Query("a")], k=0)


def test_an_unknown_retriever_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(SpecError):
        create_index(tmp_path / "index", "bm26")
    assert not (tmp_path / "index").exists()

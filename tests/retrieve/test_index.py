"""An index: what a store and a retriever do together."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, Sample, SpecError, write
from interloq.records import Pair
from interloq.retrieve.index import add_files, create_index, index_files, open_index, read_pairs
from interloq.retrieve.retrieve_options import AddPairsOptions, IndexOptions
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


@pytest.fixture
def files(folder: Path) -> Path:
    write("pairs.jsonl", [Pair(f"p{w}", f"how was the {w}", f"the {w} was fine") for w in "abcdefgh"], kind="pairs")
    write("samples.jsonl", [Sample(w, [f"how was the {w}"], "fine", ["good"]) for w in "abcd"], kind="samples")
    return folder


def test_an_index_contains_a_file_once(files: Path) -> None:
    index, (first,) = index_files(["pairs.jsonl"], "index", IndexOptions(retriever="bm25", without=["samples.jsonl"]))
    assert (first.before, first.added, first.excluded) == (0, 4, {"utterance": 4})
    (again,) = add_files(index, ["pairs.jsonl"], AddPairsOptions(without=["samples.jsonl"]))
    assert (again.before, again.added) == (4, 0)
    with pytest.raises(InputError, match="already in the index, with other samples"):
        add_files(index, ["pairs.jsonl"])


def test_nothing_is_made_of_what_cannot_be_read_again(files: Path) -> None:
    for pairs, segment in (("-", None), ("absent.jsonl", None), ("pairs.jsonl", 0)):
        with pytest.raises(InputError):
            index_files([pairs], "index", IndexOptions(retriever="bm25", segment=segment))
    assert not (files / "index").exists()


def test_pairs_without_ids_are_named_by_file_and_line(files: Path) -> None:
    (files / "raw.jsonl").write_text('{"utterance": "a", "response": "b"}\n{"utterance": "c", "response": "d"}\n')
    assert [pair.id for pair in read_pairs("raw.jsonl")] == ["raw:1", "raw:2"]
    assert next(read_pairs("pairs.jsonl")).id == "pa"

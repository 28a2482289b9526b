"""Jaccard similarity from an index: what it compares, and that servers refuse it."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.records import Pair
from interloq.registry import create
from interloq.retrieve.index import create_index, open_index
from interloq.retrieve.leaks import words
from interloq.retrieve.retriever import Query


def test_each_distinct_word_counts_once_without_case_and_punctuation() -> None:
    encoded = create("jaccard", kind="retriever").encode(["Tea, tea … TEA!", "", "茶が好き", "tea cup"])
    assert encoded.lengths.tolist() == [1, 0, len(words("茶が好き")), 2]
    assert set(encoded.counts) == {1}
    assert encoded.terms[0] in encoded.terms[-2:]


def test_an_index_finds_the_largest_share_of_words(tmp_path: Path) -> None:
    texts = ["do you like green tea", "do you like tea ?", "tea", "you", "snow", ""]
    pairs = [Pair(str(i), text, f"reply {i}") for i, text in enumerate(texts)]
    create_index(tmp_path / "index", "jaccard").add(pairs, source="a", segment=2)
    hits = open_index(tmp_path / "index").search([Query("do you like tea"), Query("rain"), Query("")], 4)
    assert [(hit.pair.id, hit.score) for hit in hits[0]] == [
        ("1", 1),
        ("0", pytest.approx(0.8)),
        ("2", 0.25),
        ("3", 0.25),
    ]
    assert hits[1:] == [[], []]


def test_servers_refuse_it() -> None:
    with pytest.raises(InputError, match="a server cannot search by jaccard; name a folder"):
        create_index("qdrant://localhost:6333/pairs", "jaccard")

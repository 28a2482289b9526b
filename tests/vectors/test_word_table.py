"""Words and their rows in one table on disk."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq import create
from interloq.errors import InputError
from interloq.vectors.word_table import WordNumbering, WordTable
from interloq.vectors.word_vectors import WordVectors


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("word_ends.npy", np.array([0, 5, 3, 9, 12], dtype=np.int64)),
        ("word_ends.npy", np.zeros(3)),
        ("word_hashes.npy", np.zeros((2, 2), dtype=np.uint64)),
        ("word_order.npy", np.full(4, 2**30, dtype=np.int32)),
    ],
)
def test_tables_of_words_that_lead_nowhere(some: WordVectors, tmp_path: Path, name: str, array: Any) -> None:
    some.save(tmp_path / "v")
    np.save(tmp_path / "v" / name, array)
    with pytest.raises(InputError, match="damaged"):
        WordVectors.load(tmp_path / "v")


@given(st.lists(st.text(min_size=1, max_size=6), unique=True, max_size=40), st.lists(st.text(max_size=6), max_size=20))
@settings(deadline=None)
def test_the_table_finds_every_word_and_no_other(words: list[str], others: list[str]) -> None:
    table = WordTable.of(words)
    assert list(table) == words
    assert [table.find(word) for word in words] == list(range(len(words)))
    assert all((table.find(word) >= 0) == (word in words) for word in others)


def test_words_whose_hashes_clash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.vectors.word_table._hash", lambda word: len(word))
    table = WordTable.of(["ab", "cd", "e", "fg"])
    assert [table.find(word) for word in ("ab", "cd", "e", "fg", "hi", "j", "klm")] == [0, 1, 2, 3, -1, -1, -1]


def test_opening_400_000_words_takes_no_time(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(400_000)]
    WordVectors.of(words, np.ones((400_000, 4), dtype=np.float32), tokenizer="whitespace").save(tmp_path / "v")
    times = []
    for _ in range(3):
        start = time.perf_counter()
        assert WordVectors.load(tmp_path / "v").words.find("w399999") == 399_999
        times.append(time.perf_counter() - start)
    assert min(times) < 0.25


@given(st.lists(st.text(alphabet="ab-.,'\n 1", max_size=20), max_size=8), st.sampled_from(["13a", "space", "char"]))
@settings(deadline=None)
def test_numbered_tokens_are_the_tokenizers(texts: list[str], name: str) -> None:
    tokenizer = create(name, kind="tokenizer")
    numbers: dict[str, int] = {}
    numbered = WordNumbering(tokenizer, lambda token: numbers.setdefault(token, len(numbers))).texts(texts)
    names = list(numbers)
    found = [[names[t] for t in numbered.tokens[a:b]] for a, b in pairwise(numbered.ends)]
    assert found == [[token for token in tokenizer.tokens(text) if token] for text in texts]

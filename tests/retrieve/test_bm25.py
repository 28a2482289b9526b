"""BM25: words as numbers, and its constants."""

from __future__ import annotations

import pytest

from interloq import SpecError, create
from interloq.retrieve.bm25 import term

RETRIEVER = create("bm25(tokenizer='whitespace')")


def test_words_are_hashed_alike_everywhere() -> None:
    assert term("hello") == int.from_bytes(bytes.fromhex("a7b6eda801e5347d"), "little")
    assert term("日本") != term("日木")


def test_encoding_counts_words() -> None:
    words = RETRIEVER.encode(["b a b", "", "a"])
    assert words.ends.tolist() == [0, 2, 2, 3]
    assert words.lengths.tolist() == [3, 0, 1]
    assert dict(zip(words.terms[:2].tolist(), words.counts[:2].tolist(), strict=True)) == {term("a"): 1, term("b"): 2}


def test_constants_are_checked() -> None:
    with pytest.raises(SpecError, match="k1 must be at least 0"):
        create("bm25(b=2)")

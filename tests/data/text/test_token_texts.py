"""Texts as numbered tokens in one array."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from interloq import create
from interloq.data.text.token_texts import Texts, TokenNumbering

TEXTS = ["a b a", "", "c-\nb", "b"]


def numbered(name: str, texts: list[str]) -> list[list[str]]:
    numbering = TokenNumbering(create(name, kind="tokenizer"))
    found = numbering.texts(texts)
    words = numbering.vocabulary()
    return [[words[i] for i in found[text]] for text in range(len(texts))]


@given(st.lists(st.text(st.sampled_from("ab-.\n 漢"), max_size=12), max_size=6))
def test_numbers_stand_for_the_tokenizers_tokens(texts: list[str]) -> None:
    for name in ("whitespace", "13a", "zh"):
        assert numbered(name, texts) == [list(create(name, kind="tokenizer").tokens(text)) for text in texts]


def test_equal_tokens_have_equal_numbers_in_later_calls() -> None:
    numbering = TokenNumbering(create("whitespace", kind="tokenizer"))
    first, second = numbering.texts(["a b"]), numbering.texts(["b c a"])
    assert first.tokens.tolist() == [0, 1]
    assert second.tokens.tolist() == [1, 2, 0]


def test_texts_are_padded_joined_and_thinned() -> None:
    texts = Texts.of([[5, 6, 7], [], [8]])
    assert texts.lengths.tolist() == [3, 0, 1]
    assert texts.padded(np.array([2, 0, 1]), 2, -1).tolist() == [[8, -1], [5, 6], [-1, -1]]
    tokens, lengths = texts.joined(np.array([2, 1, 0]))
    assert (tokens.tolist(), lengths.tolist()) == ([8, 5, 6, 7], [1, 0, 3])
    thin = texts.without(texts.tokens == 6)
    assert [thin[i].tolist() for i in range(3)] == [[5, 7], [], [8]]
    assert [part.tolist() for part in texts.joined(np.zeros(0, dtype=np.int64))] == [[], []]

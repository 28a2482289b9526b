"""Texts as word numbers: ranking, rare words and repeats."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq.errors import InputError
from interloq.vectors.glove.numbered_corpus import Corpus
from tests.vectors.glove.made_glove import corpus


def words_of(read: Corpus, size: int = 1000) -> list[list[str]]:
    return [
        [read.words[token] for token in part.tokens[start:end]]
        for part in read.parts(size)
        for start, end in pairwise(part.ends)
    ]


def test_words_are_ranked_by_count_then_letters(tmp_path: Path) -> None:
    read = corpus(["b a b", "c a d b", "e"], tmp_path, least=1)
    assert list(zip(read.words, read.counts, strict=True)) == [("b", 3), ("a", 2), ("c", 1), ("d", 1), ("e", 1)]
    assert (read.texts, read.tokens, read.distinct, read.duplicates) == (3, 8, 5, 0)
    assert Corpus.load(tmp_path) == read


def test_rare_words_are_left_out_and_do_not_count_as_distance(tmp_path: Path) -> None:
    read = corpus(["a rare b", "b a"], tmp_path, least=2)
    assert read.words == ["a", "b"]
    assert words_of(read) == [["a", "b"], ["b", "a"]]
    assert corpus(["a b c", "a b", "a"], tmp_path / "most", most=2).words == ["a", "b"]


@given(st.lists(st.text(alphabet="ab \n", max_size=8), min_size=1, max_size=60), st.integers(1, 9))
@settings(max_examples=80, deadline=None)
def test_every_distinct_text_comes_back_once(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], size: int
) -> None:
    expected = [text.split() for text in dict.fromkeys(texts)]
    if not any(expected):
        with pytest.raises(InputError, match="the texts have no tokens"):
            corpus(texts, tmp_path_factory.mktemp("corpus"))
        return
    read = corpus(texts, tmp_path_factory.mktemp("corpus"))
    assert words_of(read, size) == expected
    assert dict(zip(read.words, read.counts, strict=True)) == Counter(word for text in expected for word in text)
    assert read.duplicates == len(texts) - len(set(texts))


def test_repeated_texts_are_kept_when_asked(tmp_path: Path) -> None:
    assert corpus(["a b", "a b", "c"], tmp_path, keep=True).counts == [2, 2, 1]


def test_a_vocabulary_without_words_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no word occurs 9 times; the most frequent occurs 2 times; lower --min-count"):
        corpus(["a a b"], tmp_path, least=9)

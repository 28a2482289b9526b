"""Search by shared words equals a comparison of every text, also across segments, and notices damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq import InputError
from interloq.registry import create
from interloq.retrieve.folder import shared_words
from interloq.retrieve.folder.postings import Postings
from interloq.retrieve.folder.shared_words import WordSegment
from interloq.retrieve.leaks import jaccard, words
from interloq.retrieve.retriever import NOTHING, best

TEXTS = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=6).map(" ".join), min_size=1, max_size=12)
JACCARD = create("jaccard", kind="retriever")


def segment(folder: Path, texts: list[str]) -> WordSegment:
    folder.mkdir(exist_ok=True)
    Postings.of(JACCARD.encode(texts)).save(folder)
    return WordSegment(folder, Postings.open(folder))


@settings(max_examples=30, deadline=None)
@given(TEXTS, TEXTS, TEXTS, st.integers(1, 15))
def test_equals_a_comparison_of_every_text(
    tmp_path_factory: pytest.TempPathFactory, first: list[str], second: list[str], queries: list[str], k: int
) -> None:
    folder = tmp_path_factory.mktemp("postings")
    segments = [segment(folder / "0", first), segment(folder / "1", second)]
    ids, scores = best(*shared_words.search(segments, JACCARD.encode(queries), k), k)
    for query, row, values in zip(queries, ids.tolist(), scores.tolist(), strict=True):
        similar = [(jaccard(words(query), words(text)), -i) for i, text in enumerate(first + second)]
        expected = sorted((pair for pair in similar if pair[0] > 0), reverse=True)[:k]
        found = [(value, -i) for value, i in zip(values, row, strict=True) if i != NOTHING]
        assert [i for _, i in found] == [i for _, i in expected]
        assert [value for value, _ in found] == pytest.approx([value for value, _ in expected])


def test_texts_that_do_not_exist_are_named(tmp_path: Path) -> None:
    damaged = segment(tmp_path, ["a b", "a"])
    np.save(tmp_path / "texts.npy", damaged.postings.texts + np.uint32(1))
    with pytest.raises(InputError, match="it names texts that do not exist: there are 2"):
        shared_words.search([WordSegment(tmp_path, Postings.open(tmp_path))], JACCARD.encode(["a"]), 1)

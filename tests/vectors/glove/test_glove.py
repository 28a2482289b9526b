"""The modules of `interloq.vectors.glove`: numbered corpus, settings, shuffle, torch engine."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq.errors import InputError
from interloq.vectors.glove.numbered_corpus import Corpus
from interloq.vectors.glove.settings import Glove
from interloq.vectors.glove.shuffle import BLOCKS, Chunks
from tests.conftest import missing
from tests.vectors.glove.made_glove import SMALL, changed, corpus, cosines, curve_of, topical_texts, trained_on


def words_of(read: Corpus, size: int = 1000) -> list[list[str]]:
    return [
        [read.words[token] for token in part.tokens[start:end]]
        for part in read.parts(size)
        for start, end in pairwise(part.ends)
    ]


def test_words_are_ranked_by_count_then_letters_and_rare_ones_left_out(tmp_path: Path) -> None:
    read = corpus(["b a b", "c a d b", "e"], tmp_path, least=1)
    assert list(zip(read.words, read.counts, strict=True)) == [("b", 3), ("a", 2), ("c", 1), ("d", 1), ("e", 1)]
    assert (read.texts, read.tokens, read.distinct, read.duplicates) == (3, 8, 5, 0)
    assert Corpus.load(tmp_path) == read
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


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dimensions": 0}, "dimensions must be above 0, got 0"),
        ({"window": -1}, "window must be above 0, got -1"),
        ({"alpha": -0.5}, "alpha must not be negative, got -0.5"),
    ],
)
def test_settings_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Glove(**options)


def test_unknown_is_the_mean_of_the_hundred_rarest_words(tmp_path: Path) -> None:
    texts = [f"{w} x{i}" for i in range(150) for w in ("a", "b", "c")]
    trained = trained_on([*texts, "x0 x1 a"], tmp_path / "out", changed(epochs=2))
    rare = trained.matrix[-101:-1]
    assert len(trained) == 154
    np.testing.assert_allclose(trained.vector("<unk>"), rare.mean(axis=0), atol=1e-6)
    kept = trained_on(["<unk> a b", "a <unk> c"], tmp_path / "own", changed(epochs=2))
    assert list(kept.words).count("<unk>") == 1


def test_blocks_of_a_diagonal_share_no_word(tmp_path: Path, kept_work: None) -> None:
    trained_on(topical_texts(300), tmp_path / "out", changed(epochs=1))
    chunks = Chunks.load(tmp_path / "out" / "work")
    assert chunks is not None
    chunk = chunks.chunk(0)
    for diagonal in range(BLOCKS):
        for side in (chunk.rows, chunk.columns):
            ends = chunk.ends[diagonal * BLOCKS : (diagonal + 1) * BLOCKS + 1]
            sets = [set(side[a:b].tolist()) for a, b in pairwise(ends)]
            assert sum(len(s) for s in sets) == len(set().union(*sets))
    assert chunk.ends[-1] == chunks.entries


@pytest.fixture(scope="module")
def torch() -> Any:
    try:
        import torch
    except ImportError:
        missing("torch")
    torch.set_num_threads(1)
    return torch


def test_torch_learns_what_numba_learns(tmp_path: Path, torch: Any) -> None:
    texts = topical_texts(3000, topics=12, each=12)
    ours = trained_on(texts, tmp_path / "numba", SMALL)
    theirs = trained_on(texts, tmp_path / "torch", SMALL, device="torch")
    assert "|device:torch|" in theirs.facts["origin"]
    assert curve_of(tmp_path / "torch")[-1] == pytest.approx(curve_of(tmp_path / "numba")[-1], rel=0.01)
    assert np.corrcoef(cosines(ours.matrix), cosines(theirs.matrix))[0, 1] > 0.9


def test_torch_needs_no_numba(tmp_path: Path, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "interloq.vectors.glove.numba_engine", raising=False)
    trained = trained_on(topical_texts(50), tmp_path / "out", changed(epochs=2), device="torch")
    assert np.isfinite(trained.matrix).all()


def test_cuda_without_a_gpu_is_a_clear_error(tmp_path: Path, torch: Any) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(InputError, match="torch finds no CUDA device; run without --device cuda"):
        trained_on(topical_texts(20), tmp_path / "out", SMALL, device="cuda")
    assert not list(tmp_path.glob("out/work/tokens*")), "said before any work is done"

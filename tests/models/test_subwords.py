"""Subword ids of texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.models.subwords import Subwords
from tests.made_relevance import tiny_encoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("encoder")
    tiny_encoder(path)
    return path


def test_texts_are_cut_and_empty_ones_are_one_unknown_token(folder: Path) -> None:
    subwords = Subwords(folder, longest=2)
    texts = subwords.texts(["tea rain music", "", "tea"])
    assert texts.lengths.tolist() == [2, 1, 1]
    assert texts[1].tolist() == [subwords.unknown]
    assert texts[0][0] == texts[2][0]
    assert not {subwords.start, subwords.end, subwords.pad} & set(texts.tokens.tolist())
    assert subwords.texts([]).lengths.tolist() == []


def test_a_saved_tokenizer_is_the_same(folder: Path, tmp_path: Path) -> None:
    subwords = Subwords(folder)
    subwords.save(tmp_path / "copy")
    copy = Subwords(tmp_path / "copy")
    assert copy.signature() == subwords.signature() != Subwords(folder, longest=3).signature()
    subwords.save(folder)
    assert Subwords(folder).signature() == subwords.signature()


def test_at_least_one_token_counts(folder: Path) -> None:
    with pytest.raises(InputError, match="longest must be at least 1, got 0"):
        Subwords(folder, longest=0)

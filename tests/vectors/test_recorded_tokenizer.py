"""The tokenizer recorded with word vectors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from interloq import create
from interloq.errors import InputError
from interloq.vectors.word_vectors import WordVectors
from tests.vectors.made_vectors import WORDS


def test_another_tokenizer_is_refused(some: WordVectors, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"were made with tokenizer whitespace\(lowercase=False\), got 13a\(.*use whitespace, "
    ):
        some.sentences(["the"], "13a")
    np.testing.assert_array_equal(some.sentences(["the"], create("whitespace")), some.sentences(["the"]))
    without = WordVectors.of(WORDS, some.matrix)
    with pytest.raises(InputError, match="these vectors have no recorded tokenizer; give tokenizer"):
        without.sentences(["the"])
    np.testing.assert_array_equal(without.sentences(["the"], "whitespace"), some.sentences(["the"]))


def test_a_new_release_of_the_tokenizers_library_is_not_another_tokenizer(some: WordVectors, tmp_path: Path) -> None:
    WordVectors.of(WORDS, some.matrix, tokenizer="13a").save(tmp_path / "v")
    facts = json.loads((tmp_path / "v" / "vectors.json").read_text())
    assert "-sacrebleu-" in facts["tokenizer"]["signature"]
    facts["tokenizer"]["signature"] = "13a(lowercase=False)-sacrebleu-9.9"
    (tmp_path / "v" / "vectors.json").write_text(json.dumps(facts))
    assert np.isfinite(WordVectors.load(tmp_path / "v").sentences(["the cat"])).all()
    facts["tokenizer"]["signature"] = "13a(lowercase=True)-sacrebleu-9.9"
    (tmp_path / "v" / "vectors.json").write_text(json.dumps(facts))
    with pytest.raises(InputError, match="has changed"):
        WordVectors.load(tmp_path / "v").sentences(["the cat"])

"""Retrieval by sentence vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interloq import SpecError
from interloq.retrieve.dense import Dense
from interloq.vectors.word_vectors import WordVectors


def test_texts_become_unit_vectors_whoever_stands_beside_them() -> None:
    dense = Dense(encoder="fake32")
    texts = ["good morning", "see you", "good morning"]
    rows = dense.encode(texts)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1)
    assert (rows[0] == rows[2]).all()
    assert (rows[1] == dense.encode(["see you"])[0]).all()


def test_a_text_without_known_words_is_zero(tmp_path: Path) -> None:
    WordVectors.of(["a", "b"], np.array([[3, 4], [0, 2]], dtype=np.float32), tokenizer="whitespace").save(tmp_path)
    rows = Dense(vectors=str(tmp_path)).encode(["a", "", "a b"])
    assert rows[0].tolist() == pytest.approx([0.6, 0.8])
    assert rows[1].tolist() == [0, 0]
    assert rows[2] == pytest.approx(np.array([0.6, 1.8]) / np.hypot(0.6, 1.8))


@pytest.mark.parametrize("fields", [{}, {"vectors": "a", "encoder": "b"}])
def test_one_of_vectors_and_encoder_is_needed(fields: dict[str, str]) -> None:
    with pytest.raises(SpecError, match="either vectors"):
        Dense(**fields)  # type: ignore[arg-type]

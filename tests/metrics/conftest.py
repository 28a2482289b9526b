"""Fixtures that several files of this folder use."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from interloq.vectors.word_vectors import WordVectors


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    from tests.metrics.made_fed import Words  # loads torch

    monkeypatch.setattr("interloq.metrics.likelihood.fed.load_model", lambda *_, **__: Words())
    file = tmp_path / "mine.json"
    dimensions = {"kind": {"positive": ["aa", "aaaa a"], "negative": ["bbb"]}, "rude": {"negative": ["b bb", "bbb"]}}
    file.write_text(json.dumps({"turn": dimensions, "full": ["aa", "b bbb"]}))
    return str(file)


HAND = ["a", "b", "c", "minus"]
HAND_MATRIX = [[3, 4], [4, 3], [-5, 0], [0, -2]]


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> str:
    """cos(a, b) = 24/25, cos(a, c) = −3/5, cos(b, c) = −4/5, cos(a, minus) = −4/5, cos(b, minus) = −3/5."""
    path = tmp_path_factory.mktemp("by_hand")
    WordVectors.of(HAND, np.array(HAND_MATRIX, dtype=np.float32), tokenizer="whitespace").save(path)
    return str(path)

"""Fixtures that several files of this folder use."""

from __future__ import annotations

import json
from dataclasses import replace
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


@pytest.fixture(scope="session")
def lm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model."""
    from tests.made_lm import tiny_lm

    return tiny_lm(tmp_path_factory.mktemp("lm"), positions=512)


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder."""
    from tests.made_lm import tiny_bert

    return tiny_bert(tmp_path_factory.mktemp("bert"), head="")


@pytest.fixture(scope="session")
def masked(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An encoder that predicts masked tokens, with bounds of usual scores."""
    from interloq.models.mlm import BOUNDS
    from tests.made_lm import tiny_bert

    folder = tiny_bert(tmp_path_factory.mktemp("masked"), head="MaskedLM")
    (folder / BOUNDS).write_text('{"likelihood": [-8, -4], "surprise": [10, 40]}')
    return str(folder)


@pytest.fixture(scope="session")
def form(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A scorer that reads replies alone."""
    from interloq.scorers.relevance.settings import VALID
    from tests.made_relevance import small_scorer

    return str(small_scorer(tmp_path_factory.mktemp("form"), settings=replace(VALID, batch=32, reply=12)))


@pytest.fixture(scope="session")
def follows(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A scorer of relevance."""
    from tests.made_relevance import small_scorer

    return str(small_scorer(tmp_path_factory.mktemp("follows"), epochs=3))


HAND = ["a", "b", "c", "minus"]
HAND_MATRIX = [[3, 4], [4, 3], [-5, 0], [0, -2]]


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> str:
    """cos(a, b) = 24/25, cos(a, c) = −3/5, cos(b, c) = −4/5, cos(a, minus) = −4/5, cos(b, minus) = −3/5."""
    path = tmp_path_factory.mktemp("by_hand")
    WordVectors.of(HAND, np.array(HAND_MATRIX, dtype=np.float32), tokenizer="whitespace").save(path)
    return str(path)

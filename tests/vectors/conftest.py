"""Fixtures that several files of this folder use."""

from __future__ import annotations

import numpy as np
import pytest

from interloq.vectors.word_vectors import WordVectors
from tests.vectors.made_vectors import WORDS


@pytest.fixture
def some() -> WordVectors:
    matrix = np.random.default_rng(0).standard_normal((len(WORDS), 5)).astype(np.float32)
    return WordVectors.of(WORDS, matrix, tokenizer="whitespace")

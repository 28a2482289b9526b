# SPDX-License-Identifier: Apache-2.0
"""Deterministic stand-ins for models, for tests and documentation: no weights, no downloads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


class FakeEncoder:
    """Sentence vectors from words: each word has its own random direction, so texts that share words are similar."""

    def __init__(self, dimensions: int = 64) -> None:
        self.dimensions = dimensions

    def sentences(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector per text: the sum of its words' directions."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row += _direction(word, self.dimensions)
        return rows

    def signature(self) -> str:
        return f"fake-encoder-{self.dimensions}"


@lru_cache(maxsize=2**16)
def _direction(word: str, dimensions: int) -> NDArray[np.float32]:
    seed = int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    return np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)

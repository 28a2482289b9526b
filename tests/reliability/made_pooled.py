"""Made-up queries for the pooled model, read by counting words in place of a network."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from interloq.reliability.labels import RatedQuery, group_queries, score_replies
from interloq.reliability.pooled_fit import Labelled, PairReader, label_queries
from interloq.reliability.pooled_settings import PooledSettings
from interloq.reliability.rules import Floats
from tests.reliability.made_queries import rated_samples

METRIC = "bleu_star"
SETTINGS = PooledSettings(sizes="1,2,3", per_size=4, folds=3)


class WordEncoder:
    """Counts words, in place of a network."""

    name, folder = "words", Path("words")

    def sentences(self, texts: Sequence[str]) -> Floats:
        vectors = np.zeros((len(texts), 64))
        for row, text in zip(vectors, texts, strict=True):
            for word in text.lower().split():
                row[zlib.crc32(word.encode()) % 64] += 1
        return np.asarray(vectors / np.maximum(1e-9, np.linalg.norm(vectors, axis=1, keepdims=True)))


class WordReader(PairReader):
    def __init__(self, name: str, device: str = "auto") -> None:  # noqa: ARG002
        self.encoder = WordEncoder()  # type: ignore[assignment]


@cache
def made_queries() -> list[RatedQuery]:
    """Rated queries; callers must not change them."""
    return group_queries(rated_samples(24, replies=6, references=6))


@cache
def made_labelled() -> list[Labelled]:
    """The same queries with labelled sets."""
    return list(label_queries(score_replies(made_queries(), METRIC), WordReader(""), SETTINGS))

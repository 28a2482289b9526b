"""Small texts and literal loops for tests of GloVe."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq import create
from interloq.vectors.glove.job import train
from interloq.vectors.glove.numbered_corpus import Corpus, write_corpus
from interloq.vectors.glove.settings import Glove
from interloq.vectors.word_vectors import WordVectors

SPACES = create("whitespace", kind="tokenizer")
SMALL = Glove(dimensions=20, window=5, x_max=10.0, epochs=12, min_count=1, tokenizer=SPACES)


def topical_texts(n: int = 600, *, topics: int = 5, each: int = 7) -> list[str]:
    """Nine words a text, three quarters of them of one topic: there is something to learn."""
    rng = np.random.default_rng(0)
    topic = np.where(rng.random((n, 9)) < 0.75, rng.integers(topics, size=(n, 1)), rng.integers(topics, size=(n, 9)))
    word = rng.integers(each, size=(n, 9))
    return [" ".join(f"t{t}w{w}" for t, w in zip(*row, strict=True)) for row in zip(topic, word, strict=True)]


def changed(**options: Any) -> Glove:
    """SMALL with other settings."""
    return dataclasses.replace(SMALL, **options)


def cosines(vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Of all pairs of different words."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray((unit @ unit.T)[np.triu_indices(len(unit), 1)], dtype=np.float64)


def trained_on(texts: Iterable[str], folder: Path, settings: Glove, *, device: str = "cpu") -> WordVectors:
    """With one thread: for so little work, more would only wait for each other."""
    return train(texts, folder, settings, threads=1, device=device)


def curve_of(folder: Path) -> list[float]:
    return [epoch["loss"] for epoch in json.loads((folder / "learning_curve.json").read_text())["epochs"]]


def corpus(texts: Sequence[str], folder: Path, *, least: int = 1, most: int = 1000, keep: bool = False) -> Corpus:
    tokenizer = create("whitespace", kind="tokenizer")
    return write_corpus(
        texts,
        folder,
        tokenizer,
        min_count=least,
        max_vocabulary=most,
        keep_duplicates=keep,
        step=lambda _: None,
    )

"""Epochs in numba against a literal loop."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from interloq.errors import MissingDependencyError
from interloq.vectors.glove import shuffle
from interloq.vectors.glove.job import train
from interloq.vectors.glove.settings import Glove, GloveParameters
from interloq.vectors.glove.shuffle import BLOCKS, Chunks
from tests.vectors.glove.made_glove import SMALL, changed, cosines, curve_of, topical_texts, trained_on

Entries = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]


def literal_epoch(p: dict[str, NDArray[np.float64]], entries: Entries, s: Glove) -> float:
    """GloVe's update, one entry at a time, as its authors wrote it; returns the summed loss."""
    total = 0.0
    for i, j, x in zip(*entries, strict=True):
        difference = p["w"][i] @ p["c"][j] + p["bw"][i] + p["bc"][j] - np.log(x)
        pull = min(1.0, (x / s.x_max) ** s.alpha) * difference
        total += 0.5 * pull * difference
        step_w = np.clip(pull * p["c"][j], -s.clip, s.clip) * s.learning_rate
        step_c = np.clip(pull * p["w"][i], -s.clip, s.clip) * s.learning_rate
        p["w"][i] -= step_w / np.sqrt(p["gw"][i])
        p["c"][j] -= step_c / np.sqrt(p["gc"][j])
        p["gw"][i] += step_w**2
        p["gc"][j] += step_c**2
        step_b = pull * (s.learning_rate if s.bias_rate is None else s.bias_rate)
        p["bw"][i] -= step_b / np.sqrt(p["gbw"][i])
        p["bc"][j] -= step_b / np.sqrt(p["gbc"][j])
        p["gbw"][i] += step_b**2
        p["gbc"][j] += step_b**2
    return total


def literal_parameters(start: GloveParameters) -> dict[str, NDArray[np.float64]]:
    v, b = start.vectors.astype(np.float64), start.biases.astype(np.float64)
    values = {"w": v[0], "c": v[1], "bw": b[0], "bc": b[1]}
    return values | {f"g{name}": np.ones_like(value) for name, value in values.items()}


def in_training_order(chunks: Chunks, settings: Glove, epoch: int) -> Iterator[Entries]:
    """The order that the seed stands for: chunks, then diagonals of blocks."""
    rng = np.random.default_rng([settings.seed, 3, epoch])
    for number in rng.permutation(chunks.chunks):
        chunk = chunks.chunk(int(number))
        for diagonal in rng.permutation(BLOCKS):
            part = slice(chunk.ends[diagonal * BLOCKS], chunk.ends[(diagonal + 1) * BLOCKS])
            yield chunk.rows[part], chunk.columns[part], chunk.values[part].astype(np.float64)


@pytest.mark.parametrize("settings", [SMALL, changed(bias_rate=1.0, clip=0.2, epochs=6)])
def test_same_start_and_order_give_what_the_literal_loop_gives(
    tmp_path: Path, kept_work: None, monkeypatch: pytest.MonkeyPatch, settings: Glove
) -> None:
    monkeypatch.setattr(shuffle, "CHUNK", 100)  # several chunks
    trained = trained_on(topical_texts(), tmp_path / "out", settings)
    chunks = Chunks.load(tmp_path / "out" / "work")
    assert chunks is not None
    assert chunks.chunks > 1
    p = literal_parameters(GloveParameters.start(len(trained) - 1, settings.dimensions, seed=settings.seed))
    losses = []
    for epoch in range(1, settings.epochs + 1):
        total = sum(literal_epoch(p, entries, settings) for entries in in_training_order(chunks, settings, epoch))
        losses.append(total / chunks.entries)
    assert curve_of(tmp_path / "out") == pytest.approx(losses, rel=1e-3)
    expected = p["w"] + p["c"]
    assert np.corrcoef(cosines(trained.matrix[:-1]), cosines(expected))[0, 1] > 0.9999
    np.testing.assert_allclose(trained.matrix[:-1], expected, atol=2e-3)


def test_another_seed_and_plain_order_learn_the_same(tmp_path: Path, kept_work: None) -> None:
    """On so small a corpus, seeds alone move the loss by some per cent."""
    settings = changed(epochs=40)
    trained = trained_on(topical_texts(), tmp_path / "out", settings)
    chunks = Chunks.load(tmp_path / "out" / "work")
    assert chunks is not None
    parts = list(in_training_order(chunks, settings, 1))
    entries = [np.concatenate(column) for column in zip(*parts, strict=True)]
    p = literal_parameters(GloveParameters.start(len(trained) - 1, settings.dimensions, seed=7))
    rng = np.random.default_rng(7)
    for _ in range(settings.epochs):
        order = rng.permutation(len(entries[0]))
        loss = literal_epoch(p, (entries[0][order], entries[1][order], entries[2][order]), settings) / chunks.entries
    assert curve_of(tmp_path / "out")[-1] == pytest.approx(loss, rel=0.05)
    assert np.corrcoef(cosines(trained.matrix[:-1]), cosines(p["w"] + p["c"]))[0, 1] > 0.95


def test_every_number_of_threads_and_any_memory_give_the_same_bits(tmp_path: Path) -> None:
    texts, settings = topical_texts(300), changed(epochs=2)
    one = train(texts, tmp_path / "1", settings, threads=1, memory=1e-6)
    two = train(texts[::-1], tmp_path / "2", settings, threads=2)
    other = train(texts, tmp_path / "3", changed(epochs=2, seed=1), threads=1)
    assert one.signature() == two.signature()
    assert np.array_equal(one.matrix, two.matrix)
    assert not np.array_equal(one.matrix, other.matrix)


def test_without_numba_the_message_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "interloq.vectors.glove.numba_engine", raising=False)
    with pytest.raises(MissingDependencyError, match=r"needs the package 'numba'.*interloq\[vectors\]"):
        trained_on(topical_texts(50), tmp_path / "out", SMALL)

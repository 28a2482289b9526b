"""Vectors of pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interloq import InputError
from interloq.learn.start import Start
from interloq.models.pretrained import Subwords
from interloq.models.vector_cache import VARIABLE
from interloq.reliability import features
from interloq.reliability.features import (
    FEATURES,
    encode_pairs,
    frozen_reader,
    pair_reader,
    read_features,
    write_features,
)
from tests.reliability.made_model import SMALL, topic_encoder

PAIRS = [(("well", f"tea {i} ?"), f"a cup of tea {i % 3}") for i in range(10)]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Start:
    return Start.of(topic_encoder(tmp_path_factory.mktemp("encoder")))


def test_vectors_are_the_first_states_of_the_encoder(start: Start) -> None:
    reader = frozen_reader(start, SMALL.reading, device="cpu")
    found = encode_pairs(reader, PAIRS)
    assert found.shape == (10, 32)
    for row, pair in zip(found, PAIRS, strict=True):
        np.testing.assert_allclose(encode_pairs(reader, [pair])[0], row, atol=1e-5)
    assert len(np.unique(found.round(4), axis=0)) == 10


def test_an_interrupted_run_resumes_after_the_last_whole_batch(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(features, "BATCH", 3)
    reader = frozen_reader(start, SMALL.reading, device="cpu")
    write_features(reader, PAIRS, tmp_path)
    whole = (tmp_path / FEATURES).read_bytes()
    np.testing.assert_allclose(read_features(tmp_path, 10), encode_pairs(reader, PAIRS), atol=1e-2)
    (tmp_path / FEATURES).write_bytes(whole[: 7 * 64 + 5])  # seven rows and a part of the eighth
    steps: list[int] = []
    write_features(reader, PAIRS, tmp_path, steps.append)
    assert steps == [6, 3, 1]
    assert (tmp_path / FEATURES).read_bytes() == whole
    write_features(reader, PAIRS, tmp_path, steps.append)
    assert steps[3:] == [10]


def test_rows_that_the_encoder_cannot_read_are_refused(start: Start) -> None:
    with pytest.raises(InputError, match="the encoder reads 64 tokens, but a query with a reference may have 75"):
        frozen_reader(start, {**SMALL.reading, "reply": 48}, device="cpu")


def test_frozen_encoder_reads_a_pair_once_with_a_vector_cache(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = frozen_reader(start, SMALL.reading, device="cpu")
    pairs = [(("tea ?", "milk"), "a cup"), (("tea ? milk",), "a cup"), (("tea ?", "milk"), "a cup")]
    expected = encode_pairs(reader, pairs)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "vectors.sqlite"))
    first = encode_pairs(reader, pairs)
    monkeypatch.setattr(reader, "states", lambda *_: pytest.fail("read again"))
    np.testing.assert_array_equal(encode_pairs(reader, pairs[::-1]), expected[::-1])
    np.testing.assert_array_equal(first, expected)


def test_trained_encoders_are_not_cached(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "vectors.sqlite"))
    subwords = Subwords(start.files, longest=SMALL.longest)
    reader = pair_reader(start.network(1, seed=0), subwords, SMALL.reading, device="cpu")
    assert encode_pairs(reader, [(("tea",), "a cup")]).shape == (1, reader.dimensions)
    assert not (tmp_path / "vectors.sqlite").exists()


def test_networks_of_one_encoder_share_vectors(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trained network reads pairs with the facts that it was saved with, training with its settings alone."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "vectors.sqlite"))
    training = frozen_reader(start, SMALL.reading, device="cpu")
    expected = encode_pairs(training, PAIRS)
    trained = frozen_reader(start, {**SMALL.reading, "dimensions": 32, "hidden": 7}, device="cpu")
    monkeypatch.setattr(trained, "states", lambda *_: pytest.fail("read again"))
    np.testing.assert_array_equal(encode_pairs(trained, PAIRS), expected)
    fewer = frozen_reader(start, {**SMALL.reading, "turns": 1}, device="cpu")
    assert np.abs(encode_pairs(fewer, PAIRS) - expected).max() > 0

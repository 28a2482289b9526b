"""Vectors of pairs on disk."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq.errors import InputError
from interloq.models.encoder import Encoder
from interloq.records import Pair
from interloq.scorers.bert_ruber import features
from interloq.scorers.bert_ruber.features import VECTORS, write_pair_vectors
from interloq.scorers.bert_ruber.model import pooled_vectors
from interloq.signature import fingerprint
from tests.made_ruber import topic_pairs
from tests.scorers.bert_ruber.made_scorer import stored


def test_every_pair_has_the_vectors_of_its_texts(encoder: Encoder, tmp_path: Path) -> None:
    """Texts are numbered by the order of their hashes, pairs sorted by the numbers of their texts."""
    pairs, log = stored(tmp_path, encoder), topic_pairs(120)
    texts = {text for pair in log for text in (pair.utterance, pair.response)}
    ordered = sorted(texts, key=lambda text: int(fingerprint(text), 16))
    number = {text: i for i, text in enumerate(ordered)}
    expected = sorted((number[pair.utterance], number[pair.response]) for pair in log)
    assert [tuple(pair) for pair in pairs.pairs.tolist()] == expected
    assert pairs.of(np.arange(len(ordered))) == pytest.approx(
        pooled_vectors(encoder, ordered, "mean"), rel=2e-3, abs=1e-3
    )


def test_a_text_is_encoded_once_and_utterances_stay_on_one_side(encoder: Encoder, tmp_path: Path) -> None:
    doubled = [*topic_pairs(60), *topic_pairs(60)]
    pairs = write_pair_vectors(doubled, tmp_path, encoder, "max", dev=12)
    texts = {text for pair in doubled for text in (pair.utterance, pair.response)}
    assert len(pairs.vectors) == len(pairs.places) == len(texts)
    assert len(pairs.pairs) == 120
    assert not set(pairs.rows("dev")[:, 0].tolist()) & set(pairs.rows("train")[:, 0].tolist())
    assert 0 < pairs.dev <= 14


def test_pairs_without_text_are_left_out(encoder: Encoder, tmp_path: Path) -> None:
    odd = [*topic_pairs(40), Pair("a", "", "tea"), Pair("b", "tea", " \n")]
    pairs = write_pair_vectors(odd, tmp_path, encoder, "max", dev=4)
    assert (len(pairs.pairs), pairs.blank) == (40, 2)
    with pytest.raises(InputError, match="1 different utterance"):
        write_pair_vectors([Pair("a", "tea", "rain")] * 9, tmp_path / "few", encoder, "max", dev=4)


def test_the_order_of_the_pairs_does_not_matter(encoder: Encoder, tmp_path: Path) -> None:
    turned = topic_pairs(120)
    random.Random(1).shuffle(turned)
    first = stored(tmp_path / "first", encoder)
    second = write_pair_vectors(turned, tmp_path / "second", encoder, "mean", dev=12)
    assert (first.pairs == second.pairs).all()
    assert np.abs(first.of(first.pairs[:, 0]) - second.of(second.pairs[:, 0])).max() < 0.01


@pytest.mark.parametrize("cut", ["within a row", "between rows"])
def test_encoding_goes_on_after_the_last_whole_row(
    encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    monkeypatch.setattr(features, "BATCH", 10)
    whole = stored(tmp_path / "whole", encoder)
    size = 2 * encoder.dimensions
    kept = 57 * size + (5 if cut == "within a row" else 0)
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / VECTORS).write_bytes((tmp_path / "whole" / VECTORS).read_bytes()[:kept])
    encoded: list[str] = []

    def watched(encoder: Encoder, texts: Any, pooling: Any) -> Any:
        encoded.extend(texts)
        return pooled_vectors(encoder, texts, pooling)

    monkeypatch.setattr(features, "pooled_vectors", watched)
    again = stored(tmp_path / "cut", encoder)
    assert len(encoded) == len(whole.vectors) - 57
    assert np.abs(again.vectors.astype(float) - whole.vectors.astype(float)).max() < 0.01
    assert (again.pairs == whole.pairs).all()

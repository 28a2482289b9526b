"""Trained raters: that they learn, what they refuse, and the weights that the `gru` rater gives."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from interloq.data.text.token_texts import Texts
from interloq.errors import InputError
from interloq.learn.calibrate import CALIBRATION
from interloq.learn.job import train
from interloq.learn.learning_curve import read_curve
from interloq.learn.pieces import Pieces, train_pieces
from interloq.learn.settings import Training
from interloq.rate.model import PIECES, RaterModel
from interloq.rate.settings import Shape
from interloq.records import Pair
from tests.made_damage import check_damaged_facts
from tests.made_rater import TOPICS, rater_job, said, small_rater
from tests.rate.made_gru_rater import literal


def test_it_learns_what_a_reply_is(learned: Path) -> None:
    curve = read_curve(learned)
    best = min(epoch["dev_loss"] for epoch in curve)
    assert best < 0.6 * math.log(2)
    facts = orjson.loads((learned / CALIBRATION).read_bytes())
    assert facts["nll"] == pytest.approx(best, abs=0.1)  # of the first triplets, the curve's of both
    assert facts["temperature"] == RaterModel.load(learned).facts["temperature"]


def test_true_replies_are_likelier_than_random_ones(learned: Path) -> None:
    drawn = random.Random(7)  # no text of the log
    triplets, random_triplets = [], []
    for _ in range(100):
        topic, other = drawn.sample(TOPICS, 2)
        utterance, gold = f"{said(topic, drawn)} 999 ?", said(topic, drawn)
        triplets.append((utterance, gold, said(topic, drawn)))
        random_triplets.append((utterance, gold, said(other, drawn)))
    model = RaterModel.load(learned)
    true, wrong = model.chances(triplets), model.chances(random_triplets)
    assert np.mean(true > wrong) > 0.85
    assert np.mean(true) > np.mean(wrong) + 0.3


def test_the_same_again_has_the_same_weights(tmp_path: Path, small: Path) -> None:
    again = small_rater(tmp_path)
    assert again.facts["weights"] == RaterModel.load(small).facts["weights"]
    other = small_rater(tmp_path / "other", seed=1)
    assert other.facts["weights"] != again.facts["weights"]


def test_the_folder_holds_all_that_is_needed_and_no_pickle(small: Path) -> None:
    names = {path.name for path in small.iterdir()}
    assert names == {
        "model.safetensors",
        "model.json",
        PIECES,
        "learning_curve.json",
        "training_times.json",
        CALIBRATION,
    }
    facts = RaterModel.load(small).facts
    assert facts["examples"]["read"] == 160
    assert "Shape(embedding=16" in facts["signature"]


TRIPLETS = [("tea ?", "i like tea", "tea then"), ("rain ?", "", "so much rain"), ("tea ?", "tea then", "i like tea")]


@pytest.mark.parametrize("calibrated", [False, True])
def test_chances_are_those_of_one_triplet_at_a_time(learned: Path, calibrated: bool) -> None:
    model = RaterModel.load(learned)
    temperature = model.facts["temperature"] if calibrated else 1.0
    assert model.facts["temperature"] != 1
    found = model.chances(TRIPLETS, calibrated=calibrated)
    assert found == pytest.approx([literal(model, *triplet, temperature) for triplet in TRIPLETS], abs=1e-6)
    assert model.chances([]).shape == (0,)


def test_batches_do_not_matter(learned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, triplets = RaterModel.load(learned), TRIPLETS * 5
    whole = model.chances(triplets)
    for name in ("TEXTS", "TOKENS", "TRIPLETS"):
        monkeypatch.setattr(f"interloq.rate.model.{name}", 2)
    assert model.chances(triplets) == pytest.approx(whole, abs=1e-6)


def test_each_text_is_encoded_once(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, encode = RaterModel.load(small), Pieces.texts
    seen: list[str] = []

    def noted(self: Pieces, texts: Sequence[str]) -> Texts:
        seen.extend(texts)
        return encode(self, texts)

    monkeypatch.setattr(Pieces, "texts", noted)
    model.chances(TRIPLETS)
    assert sorted(seen) == sorted({text for triplet in TRIPLETS for text in triplet})


def test_sure_logits_do_not_overflow(copied: Path) -> None:
    model = RaterModel.load(copied)
    model.facts["temperature"] = 1e-5
    found = model.chances(TRIPLETS, calibrated=True)
    assert np.isfinite(found).all()
    assert set(np.round(found, 6)) <= {0.0, 1.0}


def test_words_that_the_log_has_not_are_unknown_pieces(small: Path) -> None:
    model = RaterModel.load(small)
    assert (model.pieces.texts(["昨日は", "映画"]).tokens == 0).mean() > 0.3
    chances = model.chances([("昨日は ?", "映画", "猫"), ("", "", "")])
    assert ((chances > 0) & (chances < 1)).all()


def test_another_tokenizer_is_refused(copied: Path) -> None:
    train_pieces([Pair("1", "other words", "than those there")] * 3, copied / PIECES, vocabulary=30)
    with pytest.raises(InputError, match=r"pieces\.model is missing or not the one the rater was trained with; copy"):
        RaterModel.load(copied)
    (copied / PIECES).unlink()
    with pytest.raises(InputError, match=r"pieces\.model is missing"):
        RaterModel.load(copied)


@pytest.mark.parametrize("change", [{"vocabulary": 7}, {"shape": {"embedding": 16, "hidden": 8}}])
def test_a_config_that_does_not_fit_is_refused(copied: Path, change: dict[str, Any]) -> None:
    path = copied / "model.json"
    facts = orjson.loads(path.read_bytes())
    path.write_bytes(orjson.dumps(facts | {"config": facts["config"] | change}))
    with pytest.raises(InputError, match="the weights are of another model"):
        RaterModel.load(copied)


def test_every_damaged_fact_is_refused_or_not_needed(copied: Path) -> None:
    def use() -> None:
        found = RaterModel.load(copied, device="cpu")
        assert found.fingerprint
        found.chances([("a", "b", "c")])

    assert check_damaged_facts(copied / "model.json", use, but=("examples",)) > 20


def test_shapes_beside_the_defaults_are_kept(tmp_path: Path) -> None:
    shape = Shape(embedding=3, hidden=4, layers=1, width=5)
    train(rater_job(tmp_path, 20, shape=shape, training=Training(epochs=1)), tmp_path / "r", device="cpu")
    assert RaterModel.load(tmp_path / "r").network.shape == shape

"""Trained raters: that they learn, what they refuse, and the weights that the `gru` rater gives."""

from __future__ import annotations

import dataclasses
import math
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import torch

from interloq import Reference, Sample, create, spec
from interloq.data.token_texts import Texts
from interloq.errors import InputError
from interloq.learn.calibrate import CALIBRATION
from interloq.learn.job import train
from interloq.learn.learning_curve import read_curve
from interloq.learn.pieces import Pieces, train_pieces
from interloq.learn.settings import Training
from interloq.rate.gru import Gru
from interloq.rate.model import PIECES, RaterModel
from interloq.rate.network_rater import weights
from interloq.rate.settings import Shape
from interloq.records import Pair
from tests.made_rater import TOPICS, rater_job, said, small_rater


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a rater that has learned its log."""
    folder = tmp_path_factory.mktemp("learned")
    train(rater_job(folder), folder / "rater", device="cpu")
    return folder / "rater"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    small_rater(folder)
    return folder / "rater"


@pytest.fixture
def copied(small: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "rater"))


# ---- learning --------------------------------------------------------------------------------------------------------


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


# ---- asking ----------------------------------------------------------------------------------------------------------


def literal(model: RaterModel, utterance: str, gold: str, reply: str, temperature: float = 1.0) -> float:
    """P of one triplet alone, from the pieces on."""
    texts = [model.pieces.texts([text]).tokens.astype(np.int64) for text in (utterance, gold, reply)]
    with torch.inference_mode():
        lengths = torch.tensor([len(text) for text in texts])
        logits = model.network(torch.from_numpy(np.concatenate(texts)), lengths, torch.tensor([[0, 1, 2]]))[0]
    return float(torch.softmax(logits.double() / temperature, dim=0)[1])


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
    assert model.pieces.unknown_share(["昨日は", "映画"]) > 0.3
    chances = model.chances([("昨日は ?", "映画", "猫"), ("", "", "")])
    assert ((chances > 0) & (chances < 1)).all()


# ---- what is refused -------------------------------------------------------------------------------------------------


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


def test_what_is_no_rater_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name a folder of a rater"):
        Gru(str(tmp_path)).rate([Sample("1", ["tea ?"], "yes", ["no"])])


# ---- weights ---------------------------------------------------------------------------------------------------------

PARROT, FIRST, SECOND = (
    Reference("tea ?", 0.3, "parrot"),
    Reference("so much tea", 0.1, "retrieved:1"),
    Reference("the rain", 1.0, "retrieved:2"),
)
SAMPLE = Sample("1", ["rain today", " tea ? "], "yes tea", [Reference("i like tea", 0.5), PARROT, FIRST, SECOND])


def chances_of(folder: Path, sample: Sample, *, calibrated: bool = False) -> dict[str, float]:
    """P of every reference, literally: the mean over gold replies."""
    model = RaterModel.load(folder)
    temperature = model.facts["temperature"] if calibrated else 1.0
    golds = [r.text for r in sample.references if r.source not in ("parrot",) and "retrieved" not in r.source]
    utterance = sample.context[-1].text.strip()
    return {
        r.text: sum(literal(model, utterance, gold, r.text, temperature) for gold in golds) / len(golds)
        for r in sample.references
    }


def weights_of(folder: Path, sample: Sample, **fields: Any) -> list[float]:
    (rated,) = Gru(str(folder), **fields).rate([sample])
    assert dataclasses.replace(rated, references=sample.references) == sample
    assert [(r.text, r.source) for r in rated.references] == [(r.text, r.source) for r in sample.references]
    return [r.weight for r in rated.references]


@pytest.mark.parametrize("calibrated", [False, True])
def test_linear_is_twice_p_minus_one(learned: Path, calibrated: bool) -> None:
    p = chances_of(learned, SAMPLE, calibrated=calibrated)
    expected = [1.0, *(2 * p[r.text] - 1 for r in (PARROT, FIRST, SECOND))]
    assert weights_of(learned, SAMPLE, calibrated=calibrated) == pytest.approx(expected, abs=1e-6)
    assert expected[2] > 0 > expected[3]


def test_signed_max_is_the_surer_label_with_its_sign(learned: Path) -> None:
    p = chances_of(learned, SAMPLE)
    expected = [1.0, *(max(p[r.text], 1 - p[r.text]) * (1 if p[r.text] > 0.5 else -1) for r in (PARROT, FIRST, SECOND))]
    found = weights_of(learned, SAMPLE, mode="signed_max")
    assert found == pytest.approx(expected, abs=1e-6)
    assert all(abs(weight) >= 0.5 for weight in found)


def test_weights_at_the_border() -> None:
    chances = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    assert weights(chances, "linear").tolist() == [-1, -0.5, 0, 0.5, 1]
    assert weights(chances, "signed_max").tolist() == [-1, -0.75, -0.5, 0.75, 1]


def test_a_rated_gold_reply_is_rated_like_the_rest(learned: Path) -> None:
    p = chances_of(learned, SAMPLE)
    expected = [2 * p[r.text] - 1 for r in SAMPLE.references]
    assert weights_of(learned, SAMPLE, gold="rated") == pytest.approx(expected, abs=1e-6)


def test_several_gold_replies_count_alike(learned: Path) -> None:
    golds = [Reference("i like tea"), Reference("the rain", source="human"), Reference("football today")]
    sample = dataclasses.replace(SAMPLE, references=(FIRST, *golds, PARROT))
    p = chances_of(learned, sample)
    expected = [2 * p[FIRST.text] - 1, 1, 1, 1, 2 * p[PARROT.text] - 1]
    assert weights_of(learned, sample) == pytest.approx(expected, abs=1e-6)
    rated = [2 * p[r.text] - 1 for r in sample.references]
    assert weights_of(learned, sample, gold="rated") == pytest.approx(rated, abs=1e-6)


@pytest.mark.parametrize("gold", ["one", "rated"])
def test_without_gold_reply_or_context_nothing_weighs(small: Path, gold: Any) -> None:
    no_gold = dataclasses.replace(SAMPLE, references=(PARROT, FIRST))
    no_context = dataclasses.replace(SAMPLE, context=())
    blank = dataclasses.replace(SAMPLE, context=(dataclasses.replace(SAMPLE.context[0], text="  "),))
    bare = dataclasses.replace(SAMPLE, references=())
    rater = Gru(str(small), gold=gold)
    rated = rater.rate([no_gold, SAMPLE, no_context, bare, blank])
    assert [[r.weight for r in s.references] for s in (rated[0], *rated[2:])] == [[0, 0], [0] * 4, [], [0] * 4]
    assert rated[1] == rater.rate([SAMPLE])[0]  # those around it change nothing
    assert rater.rate([]) == []


def test_gold_replies_alone(small: Path) -> None:
    sample = dataclasses.replace(SAMPLE, references=(Reference("i like tea", 0.2),))
    assert weights_of(small, sample) == [1.0]


# ---- the component ---------------------------------------------------------------------------------------------------


def test_spec_and_signature(small: Path, learned: Path, tmp_path: Path) -> None:
    rater = create(f"gru(model={str(small)!r},mode='signed_max',gold='rated',calibrated=True)", kind="rater")
    assert create(spec(rater), kind="rater") == rater
    assert str(small) not in str(rater.signature())
    copy = shutil.copytree(small, tmp_path / "elsewhere")
    assert dataclasses.replace(rater, model=str(copy)).signature() == rater.signature()
    others = [
        dataclasses.replace(rater, **change)
        for change in ({"model": str(learned)}, {"mode": "linear"}, {"gold": "one"}, {"calibrated": False})
    ]
    assert len({rater.signature(), *(other.signature() for other in others)}) == 5


def test_a_model_that_was_trained_again_is_loaded_again(copied: Path, learned: Path) -> None:
    rater = Gru(str(copied))
    before = rater.rate([SAMPLE])
    for name in ("model.safetensors", PIECES, "model.json"):
        shutil.copyfile(learned / name, copied / name)
    assert rater.rate([SAMPLE]) == Gru(str(learned)).rate([SAMPLE]) != before


def test_shapes_beside_the_defaults_are_kept(tmp_path: Path) -> None:
    shape = Shape(embedding=3, hidden=4, layers=1, width=5)
    train(rater_job(tmp_path, 20, shape=shape, training=Training(epochs=1)), tmp_path / "r", device="cpu")
    assert RaterModel.load(tmp_path / "r").network.shape == shape

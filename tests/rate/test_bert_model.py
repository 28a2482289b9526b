"""The BERT rater: its task against literal calculations, that it learns, what it is asked, and what it refuses."""

from __future__ import annotations

import dataclasses
import math
import random
import shutil
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
import pytest
import torch
from safetensors.torch import load_file

from interloq import Reference, Sample, create, spec
from interloq.errors import InputError
from interloq.learn import store
from interloq.learn.calibrate import CALIBRATION
from interloq.learn.job import train
from interloq.learn.learning_curve import read_curve
from interloq.models.cross_encoder import CrossEncoder, Rows, rows
from interloq.models.subwords import Subwords
from interloq.rate.bert import Bert
from interloq.rate.bert_model import KIND, BertRaterModel
from interloq.rate.bert_task import BertRaterTask
from interloq.rate.gru import Gru
from interloq.rate.pairs import RaterPairs
from interloq.rate.settings import Batching
from interloq.signature import file_fingerprint
from tests.made_bert import SMALL_BATCHES, bert_examples, bert_job, small_bert_rater, tiny_bert
from tests.made_rater import TOPICS, said, small_rater

PARTS: tuple[Literal["train", "dev"], ...] = ("train", "dev")
FILES = {
    *(
        "model.json",
        "model.safetensors",
        "config.json",
        "learning_curve.json",
        "training_times.json",
        "calibration.json",
    ),
    *("tokenizer.json", "tokenizer_config.json", "vocab.txt"),
}
GOLD = Reference("i like tea", 0.5)
PARROT = Reference("tea ?", 0.3, "parrot")
FOUND = Reference("so much tea", 0.1, "retrieved:1")
OTHER = Reference("the rain", 1.0, "retrieved:2")
SAMPLE = Sample("1", ["rain today", " tea ? "], "yes tea", [GOLD, PARROT, FOUND, OTHER])
TRIPLETS = [
    ("tea ?", "i like tea", "tea then"),
    ("rain ?", "", "so much rain"),
    ("tea ?", "tea then", "i like tea"),
    ("昨日は", "🙂", "猫"),
    ("tea " * 90, "rain " * 90, "cats " * 90),
]


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a rater that has learned its log."""
    folder = tmp_path_factory.mktemp("learned_bert")
    quiet: dict[str, Any] = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    train(bert_job(folder, **quiet), folder / "rater", device="cpu")
    return folder / "rater"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small_bert")
    small_bert_rater(folder)
    return folder / "rater"


@pytest.fixture
def copied(small: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "rater"))


# ---- the task --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[RaterPairs, Subwords]:
    return bert_examples(tmp_path_factory.mktemp("bert_examples"), 40)


def task_of(made: tuple[RaterPairs, Subwords], batching: Batching = SMALL_BATCHES, seed: int = 5) -> BertRaterTask:
    torch.manual_seed(1)
    network = CrossEncoder.pretrained(made[1].folder, 2).eval()
    return BertRaterTask(network, *made, batching, seed=seed)


@pytest.mark.parametrize("part", PARTS)
def test_the_loss_is_a_loop_of_cross_entropies(made: tuple[RaterPairs, Subwords], part: Any) -> None:
    task, (pairs, subwords) = task_of(made), made
    examples = np.array([0, 3, 1, 7])
    texts, labels = pairs.examples(part)
    expected = 0.0
    with torch.inference_mode():
        for i in examples:
            u1, r1, u2, r2 = (pairs.texts[number] for number in texts[i])
            for triplet in ((u1, r1, r2), (u2, r2, r1)):
                logits = task.network(rows([triplet], subwords))[0].double()
                expected -= float(torch.log_softmax(logits, dim=0)[int(labels[i])]) / 2
        assert float(task.loss(task.prepare(part, examples))) == pytest.approx(expected, abs=1e-4)


def test_every_example_is_in_one_batch_of_an_epoch(made: tuple[RaterPairs, Subwords]) -> None:
    task, count = task_of(made), len(made[0].labels["train"])
    epochs = [[batch.tolist() for batch in task.batches("train", epoch)] for epoch in (1, 1, 2)]
    assert epochs[0] == epochs[1] != epochs[2]
    assert all(sorted(chain.from_iterable(batches)) == list(range(count)) for batches in epochs)
    assert [b.tolist() for b in task_of(made, seed=6).batches("train", 1)] != epochs[0]


def test_a_batch_has_no_more_tokens_than_asked_for(made: tuple[RaterPairs, Subwords]) -> None:
    task = task_of(made, Batching(batch=50, tokens=600))
    batches = task.batches("train", 1)
    sizes = [task.prepare("train", batch).rows.ids.numel() for batch in batches]
    assert max(sizes) <= 600
    assert max(map(len, batches)) > 5


# ---- learning --------------------------------------------------------------------------------------------------------


def test_it_learns_what_a_reply_is(learned: Path) -> None:
    best = min(epoch["dev_loss"] for epoch in read_curve(learned))
    assert best < 0.8 * math.log(2)
    facts = orjson.loads((learned / CALIBRATION).read_bytes())
    assert facts["nll"] == pytest.approx(best, abs=0.1)  # of the first triplets, the curve's of both
    assert facts["temperature"] == BertRaterModel.load(learned).facts["temperature"]


def test_true_replies_are_likelier_than_random_ones(learned: Path) -> None:
    drawn = random.Random(7)  # no text of the log
    triplets, random_triplets = [], []
    for _ in range(100):
        topic, other = drawn.sample(TOPICS, 2)
        utterance, gold = f"{said(topic, drawn)} 999 ?", said(topic, drawn)
        triplets.append((utterance, gold, said(topic, drawn)))
        random_triplets.append((utterance, gold, said(other, drawn)))
    model = BertRaterModel.load(learned)
    true, wrong = model.chances(triplets), model.chances(random_triplets)
    assert np.mean(true > wrong) > 0.75
    assert np.mean(true) > np.mean(wrong) + 0.2


def test_the_same_again_has_the_same_weights(tmp_path: Path, small: Path) -> None:
    again = small_bert_rater(tmp_path)
    assert again.facts["weights"] == BertRaterModel.load(small).facts["weights"]
    other = small_bert_rater(tmp_path / "other", seed=1)
    assert other.facts["weights"] != again.facts["weights"]


def test_the_folder_needs_no_other(small: Path, tmp_path: Path) -> None:
    assert {path.name for path in small.iterdir()} == FILES
    model = small_bert_rater(tmp_path)
    before = model.chances(TRIPLETS)
    shutil.rmtree(tmp_path / "encoder")
    moved = shutil.move(tmp_path / "rater", tmp_path / "moved")
    assert BertRaterModel.load(moved).chances(TRIPLETS).tolist() == before.tolist()


# ---- asking ----------------------------------------------------------------------------------------------------------


def literal(model: BertRaterModel, triplet: tuple[str, str, str], temperature: float = 1.0) -> float:
    """P of one triplet alone, from the tokens on."""
    texts = [model.subwords.texts([text]).tokens for text in triplet]
    with torch.inference_mode():
        logits = model.network(rows([texts], model.subwords, limit=64))[0].double()
    return float(torch.softmax(logits / temperature, dim=0)[1])


@pytest.mark.parametrize("calibrated", [False, True])
def test_chances_are_those_of_one_triplet_at_a_time(learned: Path, calibrated: bool) -> None:
    model = BertRaterModel.load(learned)
    temperature = model.facts["temperature"] if calibrated else 1.0
    assert model.facts["temperature"] != 1
    found = model.chances(TRIPLETS, calibrated=calibrated)
    assert found == pytest.approx([literal(model, triplet, temperature) for triplet in TRIPLETS], abs=1e-5)
    assert model.chances([]).shape == (0,)


def test_neither_batches_nor_order_matter(learned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = BertRaterModel.load(learned)
    drawn = random.Random(1)
    triplets = [tuple(said(drawn.choice(TOPICS), drawn) for _ in range(3)) for _ in range(60)]
    whole = model.chances(triplets)
    assert model.chances(triplets[::-1])[::-1] == pytest.approx(whole, abs=1e-5)
    monkeypatch.setattr("interloq.rate.bert_model.TRIPLETS", 7)
    model.tokens = 100
    assert model.chances(triplets) == pytest.approx(whole, abs=1e-5)


def test_each_triplet_is_read_once_with_others_of_its_length(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, forward, seen = BertRaterModel.load(small), CrossEncoder.forward, list[Rows]()

    def noted(self: CrossEncoder, rows: Rows) -> torch.Tensor:
        seen.append(rows)
        return forward(self, rows)

    monkeypatch.setattr(CrossEncoder, "forward", noted)
    monkeypatch.setattr("interloq.rate.bert_model.TRIPLETS", 2)
    model.chances(TRIPLETS * 3)
    assert sum(len(batch.ids) for batch in seen) == len(TRIPLETS)
    assert [batch.ids.shape[1] for batch in seen] == sorted(batch.ids.shape[1] for batch in seen)


def test_a_batch_without_room_is_cut_in_two(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, forward, most = BertRaterModel.load(small), CrossEncoder.forward, 1
    whole = model.chances(TRIPLETS)

    def limited(self: CrossEncoder, rows: Rows) -> torch.Tensor:
        if len(rows.ids) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(self, rows)

    monkeypatch.setattr(CrossEncoder, "forward", limited)
    tokens = model.tokens
    assert model.chances(TRIPLETS) == pytest.approx(whole, abs=1e-5)
    assert model.tokens < tokens
    most = 0
    with pytest.raises(InputError, match="no memory for one triplet of"):
        model.chances(TRIPLETS)


def test_what_fills_a_row_up_is_not_looked_at(small: Path) -> None:
    model = BertRaterModel.load(small)
    whole = model.chances(TRIPLETS)
    model.subwords.pad = 7
    assert model.chances(TRIPLETS) == pytest.approx(whole, abs=1e-5)


# ---- what is refused -------------------------------------------------------------------------------------------------


def refused(folder: Path, says: str) -> None:
    with pytest.raises(InputError, match=says):
        BertRaterModel.load(folder)


def test_another_tokenizer_or_config_is_refused(copied: Path) -> None:
    for name, what in (("vocab.txt", "the tokenizer"), ("config.json", "config.json")):
        whole = (copied / name).read_text()
        (copied / name).write_text(whole.replace("tea", "tee") if name == "vocab.txt" else whole + " ")
        refused(copied, f"{what} is missing or not the one the rater was trained with; copy the rater's folder whole")
        (copied / name).unlink()
        refused(copied, f"{what} is missing or not the one")
        (copied / name).write_text(whole)
    BertRaterModel.load(copied)


def test_a_config_of_another_shape_is_refused(copied: Path) -> None:
    """Even if somebody has made the facts name it."""
    config = orjson.loads((copied / "config.json").read_bytes())
    (copied / "config.json").write_bytes(orjson.dumps(config | {"num_hidden_layers": 3}))
    path = copied / "model.json"
    named = {"config": file_fingerprint(copied / "config.json")}
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | named))
    refused(copied, "the weights are of another model")


def test_weights_that_are_no_numbers_are_refused(copied: Path) -> None:
    tensors = load_file(copied / "model.safetensors")
    tensors["head.bias"][:] = torch.nan
    facts = orjson.loads((copied / "model.json").read_bytes())
    store.save_model(copied, tensors, facts)
    refused(copied, r"weights 'head\.bias' contain NaN or infinity; train it again")


def test_a_folder_that_is_not_whole_is_refused(copied: Path) -> None:
    whole = (copied / "model.safetensors").read_bytes()
    (copied / "model.safetensors").write_bytes(whole[:-4])
    refused(copied, r"model\.safetensors is missing or belongs to another model")
    (copied / "model.safetensors").write_bytes(whole)
    (copied / "model.json").unlink()
    refused(copied, f"no model in the folder: no model.json; name a folder of a {KIND}")
    (copied / "model.bin").write_bytes(b"\x80\x04.")
    refused(copied, "only model.bin, and pickles are not loaded")


def test_raters_of_the_other_kind_are_refused(small: Path, tmp_path: Path) -> None:
    small_rater(tmp_path)
    with pytest.raises(InputError, match="the folder holds a 'rater', not a 'bert_rater'; name a bert_rater"):
        Bert(str(tmp_path / "rater")).rate([SAMPLE])
    with pytest.raises(InputError, match="the folder holds a 'bert_rater', not a 'rater'; name a rater"):
        Gru(str(small)).rate([SAMPLE])


def test_a_rater_is_no_encoder_to_start_from(small: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the model has no weights for .*; use an encoder in the Hugging Face layout"):
        train(bert_job(tmp_path, 40, subwords=Subwords(small, longest=16)), tmp_path / "new", device="cpu")


def test_training_without_room_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(CrossEncoder, "forward", full)
    with pytest.raises(InputError, match="no memory for a batch on cpu; choose another folder, fewer --tokens"):
        train(bert_job(tmp_path, 40), tmp_path / "new", device="cpu")


def test_a_tokenizer_with_more_tokens_than_the_encoder_is_refused(tmp_path: Path) -> None:
    subwords = Subwords(tiny_bert(tmp_path / "small", vocab_size=150), longest=16)
    with pytest.raises(InputError, match=r"the tokenizer has \d+ tokens, the encoder 150"):
        train(bert_job(tmp_path, 40, subwords=subwords), tmp_path / "new", device="cpu")


# ---- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("mode", ["linear", "signed_max"])
def test_weights_come_from_the_chances(learned: Path, mode: Any, calibrated: bool) -> None:
    model = BertRaterModel.load(learned)
    temperature = model.facts["temperature"] if calibrated else 1.0
    p = [literal(model, ("tea ?", GOLD.text, r.text), temperature) for r in SAMPLE.references]
    weights = [2 * x - 1 if mode == "linear" else (x if x > 0.5 else x - 1) for x in p]
    (rated,) = Bert(str(learned), mode=mode, gold="rated", calibrated=calibrated).rate([SAMPLE])
    assert [r.weight for r in rated.references] == pytest.approx(weights, abs=1e-5)
    (rated,) = Bert(str(learned), mode=mode, calibrated=calibrated).rate([SAMPLE])
    assert [r.weight for r in rated.references] == pytest.approx([1.0, *weights[1:]], abs=1e-5)
    assert weights[2] > weights[3]


def test_without_gold_reply_or_context_nothing_weighs(small: Path) -> None:
    no_gold = dataclasses.replace(SAMPLE, references=(PARROT, FOUND))
    no_context = dataclasses.replace(SAMPLE, context=())
    rated = Bert(str(small)).rate([no_gold, SAMPLE, no_context])
    assert [[r.weight for r in s.references] for s in (rated[0], rated[2])] == [[0, 0], [0] * 4]
    alone = Bert(str(small)).rate([SAMPLE])[0]
    assert [r.weight for r in rated[1].references] == pytest.approx([r.weight for r in alone.references], abs=1e-5)
    assert Bert(str(small)).rate([]) == []


def test_spec_and_signature(small: Path, learned: Path, tmp_path: Path) -> None:
    rater = create(f"bert(model={str(small)!r},mode='signed_max',gold='rated',calibrated=True)", kind="rater")
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
    rater = Bert(str(copied))
    before = rater.rate([SAMPLE])
    for path in learned.iterdir():
        shutil.copyfile(path, copied / path.name)
    assert rater.rate([SAMPLE]) == Bert(str(learned)).rate([SAMPLE]) != before

"""The BERT rater: its task against literal calculations, that it learns, what it is asked, and what it refuses."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
import pytest
import torch

from interloq.errors import InputError
from interloq.learn.job import train
from interloq.models.cross_encoder import CrossEncoder, rows
from interloq.models.pretrained import Subwords
from interloq.models.token_rows import TokenRows
from interloq.rate.bert_model import BertRaterModel, BertRaterTask, rater_subwords
from interloq.rate.network_rater import join_turns
from interloq.rate.pairs import RaterPairs
from interloq.rate.settings import Batching
from interloq.signature import file_fingerprint
from tests.made_bert import SMALL_BATCHES, bert_examples, bert_job, small_bert_rater, tiny_bert
from tests.made_network import watch_network

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
TRIPLETS = [
    ("tea ?", "i like tea", "tea then"),
    ("rain ?", "", "so much rain"),
    ("tea ?", "tea then", "i like tea"),
    ("昨日は", "🙂", "猫"),
    ("tea " * 90, "rain " * 90, "cats " * 90),
]


def test_the_folder_needs_no_other(small_bert: Path, tmp_path: Path) -> None:
    assert {path.name for path in small_bert.iterdir()} == FILES
    before = small_bert_rater(tmp_path).chances(TRIPLETS)
    shutil.rmtree(tmp_path / "encoder")
    moved = shutil.move(tmp_path / "rater", tmp_path / "moved")
    assert BertRaterModel.load(moved).chances(TRIPLETS).tolist() == before.tolist()


def test_each_triplet_is_read_once_with_others_of_its_length(small_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, forward, seen = BertRaterModel.load(small_bert), CrossEncoder.forward, list[TokenRows]()

    def noted(self: CrossEncoder, rows: TokenRows) -> torch.Tensor:
        seen.append(rows)
        return forward(self, rows)

    monkeypatch.setattr(CrossEncoder, "forward", noted)
    monkeypatch.setattr("interloq.rate.bert_model.TRIPLETS", 2)
    model.chances(TRIPLETS * 3)
    assert sum(len(batch.ids) for batch in seen) == len(TRIPLETS)
    assert [batch.ids.shape[1] for batch in seen] == sorted(batch.ids.shape[1] for batch in seen)


def test_a_batch_without_room_is_cut_in_two(small_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = BertRaterModel.load(small_bert)
    whole, tokens = model.chances(TRIPLETS), model.tokens
    network = watch_network(model.network, monkeypatch, most=1)
    assert model.chances(TRIPLETS) == pytest.approx(whole, abs=1e-5)
    assert model.tokens < tokens
    network.most = 0
    with pytest.raises(InputError, match="not enough memory for one triplet of"):
        model.chances(TRIPLETS)


def refused(folder: Path, says: str) -> None:
    with pytest.raises(InputError, match=says):
        BertRaterModel.load(folder)


def test_another_tokenizer_or_config_is_refused(copied_bert: Path) -> None:
    for name, what in (("vocab.txt", "the tokenizer"), ("config.json", "config.json")):
        whole = (copied_bert / name).read_text()
        (copied_bert / name).write_text(whole.replace("tea", "tee") if name == "vocab.txt" else whole + " ")
        refused(
            copied_bert,
            f"{what} is missing or not the one the rater was trained with; copy the complete folder",
        )
        (copied_bert / name).unlink()
        refused(copied_bert, f"{what} is missing or not the one")
        (copied_bert / name).write_text(whole)
    BertRaterModel.load(copied_bert)


def test_a_config_of_another_shape_is_refused(copied_bert: Path) -> None:
    """Even if somebody has made the facts name it."""
    config = orjson.loads((copied_bert / "config.json").read_bytes())
    (copied_bert / "config.json").write_bytes(orjson.dumps(config | {"num_hidden_layers": 3}))
    path = copied_bert / "model.json"
    named = {"config": file_fingerprint(copied_bert / "config.json")}
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | named))
    refused(copied_bert, "the weights are of another model")


def test_training_without_room_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(CrossEncoder, "forward", full)
    with pytest.raises(InputError, match="not enough memory for a batch on cpu; choose another folder, fewer tokens"):
        train(bert_job(tmp_path, 40), tmp_path / "new", device="cpu")


def test_a_tokenizer_with_more_tokens_than_the_encoder_is_refused(tmp_path: Path) -> None:
    subwords = Subwords(tiny_bert(tmp_path / "small_bert", vocab_size=150), longest=16)
    with pytest.raises(InputError, match=r"the tokenizer has \d+ tokens and the network 150"):
        train(bert_job(tmp_path, 40, subwords=subwords), tmp_path / "new", device="cpu")


PARTS: tuple[Literal["train", "dev"], ...] = ("train", "dev")


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


def test_a_batch_has_no_more_tokens_than_asked_for(made: tuple[RaterPairs, Subwords]) -> None:
    task = task_of(made, Batching(batch=50, tokens=600))
    batches = task.batches("train", 1)
    sizes = [task.prepare("train", batch).rows.ids.numel() for batch in batches]
    assert max(sizes) <= 600
    assert max(map(len, batches)) > 5


def test_each_turn_is_truncated_and_followed_by_the_end_token(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "encoder")
    plain, several = (rater_subwords(folder, longest=2, turns=turns) for turns in (1, 3))
    texts = ["i like tea", join_turns(["i like tea", "", "so much"], 3), join_turns(["yes", "tea"], 3)]
    like, much, yes, tea = (plain.texts([text]).tokens.tolist() for text in ("i like", "so much", "yes", "tea"))
    found = several.texts(texts)
    expected = [like, [*like, several.end, *much], [*yes, several.end, *tea]]
    assert [found[i].tolist() for i in range(3)] == expected
    assert several.texts([]).tokens.tolist() == []
    assert several.signature() != plain.signature()

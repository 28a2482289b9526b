"""The loss of an adapted model against transformers' own, over batches and pieces."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from interloq.errors import InputError
from interloq.learn.adapt.task import dev_loss
from interloq.models.token_rows import Packed, TokenRows
from interloq.records import Pair
from tests.made_adapt import CPU, QUICK, SMALL, adapted, pairs, task_of
from tests.made_language_models import change_tokenizer, tiny_model


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "electra", "albert"])
def test_the_loss_is_that_of_transformers(tmp_path: Path, kind: str) -> None:
    task = task_of(tiny_model(tmp_path / kind, kind), tmp_path)
    task.network.eval()
    own = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / kind).eval()
    loss, count = 0.0, 0
    for examples in task.batches("dev", 0):
        g = task.prepare("dev", examples)
        rows = g.rows
        assert isinstance(rows, TokenRows)
        labels = torch.full_like(rows.ids, -100)
        labels[g.places] = g.targets
        kinds = {"token_type_ids": rows.kinds} if kind in ("bert", "electra", "albert") else {}
        with torch.inference_mode():
            mean = own(input_ids=rows.ids, attention_mask=rows.mask, labels=labels, **kinds).loss
        loss += float(mean) * len(g.targets)
        count += len(g.targets)
    assert dev_loss(task, CPU, amp=False) == pytest.approx(loss / count, rel=1e-5)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_the_loss_of_a_language_model_is_that_of_every_next_token(tmp_path: Path, kind: str) -> None:
    folder = tiny_model(tmp_path / kind, kind)
    task = task_of(folder, tmp_path)
    assert task.goal == "lm"
    own = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    loss, count = 0.0, 0
    stored = task.pairs
    for utterance, response in stored.rows("dev"):
        said, reply = (stored.texts(np.array([text]))[0].tolist() for text in (utterance, response))
        end = tokenizer.eos_token_id
        ids = torch.tensor([[tokenizer.bos_token_id, *said, end, *reply, end]])
        with torch.inference_mode():
            loss += float(own(input_ids=ids, labels=ids).loss) * (ids.shape[1] - 1)
        count += ids.shape[1] - 1
    assert dev_loss(task, CPU, amp=False) == pytest.approx(loss / count, rel=1e-5)


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "llama"])
def test_packed_rows_have_the_same_loss(tmp_path: Path, kind: str) -> None:
    task = task_of(tiny_model(tmp_path / kind, kind), tmp_path)
    expected = dev_loss(task, CPU, amp=False)
    with task.network.packing.enabled(CPU) as works:
        assert works
        assert isinstance(task.prepare("dev", task.batches("dev", 0)[0]).rows, Packed)
        assert dev_loss(task, CPU, amp=False) == pytest.approx(expected, rel=1e-5)
        task.pieces = 2  # cut by rows
        assert isinstance(task.prepare("dev", task.batches("dev", 0)[0]).rows, TokenRows)


def test_the_loss_does_not_depend_on_batches(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "bert")
    whole, small = task_of(folder, tmp_path), task_of(folder, tmp_path, replace(SMALL, batch=3, tokens=50))
    expected = dev_loss(whole, CPU, amp=False)
    assert dev_loss(small, CPU, amp=False) == pytest.approx(expected, rel=1e-5)
    whole.pieces = 3
    assert dev_loss(whole, CPU, amp=False) == pytest.approx(expected, rel=1e-5)


def test_pieces_have_the_gradients_of_the_whole(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    gradients = []
    for pieces in (1, 4):
        task = task_of(folder, tmp_path)
        task.pieces = pieces
        task.network.train()
        task.loss(task.prepare("train", task.batches("train", 1)[0])).backward()
        gradients.append({name: p.grad for name, p in task.network.named_parameters()})
    for name, gradient in gradients[0].items():
        assert gradient is not None
        assert torch.allclose(gradient, gradients[1][name], rtol=1e-3, atol=1e-4), name


def test_a_batch_without_room_is_cut_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, said = tiny_model(tmp_path / "bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0), list[str]()
    expected = adapted(tmp_path / "whole", folder)
    forward, most = transformers.BertForMaskedLM.forward, 10

    def limited(self: Any, **inputs: Any) -> Any:
        if self.training and len(inputs["input_ids"]) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(self, **inputs)

    monkeypatch.setattr(transformers.BertForMaskedLM, "forward", limited)
    facts = adapted(tmp_path / "cut", folder, report=said.append)
    assert [line for line in said if "not enough memory" in line] == [
        "not enough memory for a batch: trying again with each batch split into 2 pieces",
        "not enough memory for a batch: trying again with each batch split into 4 pieces",
    ]
    assert facts["after"]["dev_loss"] == pytest.approx(expected["after"]["dev_loss"], rel=1e-3)
    most = 0
    with pytest.raises(InputError, match="not enough memory for a batch of one pair"):
        adapted(tmp_path / "none", folder)


def test_a_pad_token_is_not_needed(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "bert")
    task = task_of(folder, tmp_path / "pad")
    expected = dev_loss(task, CPU, amp=False)
    task.special_tokens = replace(task.special_tokens, pad=9)
    assert dev_loss(task, CPU, amp=False) == pytest.approx(expected, rel=1e-6), "padding is never looked at"
    change_tokenizer(folder, pad_token=None)
    facts = adapted(tmp_path / "out", folder)
    assert facts["after"]["dev_loss"] < 0.8 * facts["before"]["dev_loss"]


def test_texts_of_unknown_tokens_only(tmp_path: Path) -> None:
    folder, said = tiny_model(tmp_path / "bert"), list[str]()
    strange = [Pair(str(i), "本" * (1 + i), "雨") for i in range(30)]
    mixed = [*pairs(60), *strange]
    facts = adapted(
        tmp_path / "out", folder, pairs=lambda: mixed, report=said.append, training=replace(QUICK, epochs=1)
    )
    assert math.isfinite(facts["after"]["dev_loss"])
    assert facts["unknown_tokens"] > 0.1
    assert any("the model may be for another language" in line for line in said)
    with pytest.raises(InputError, match="all tokens of the train part are unknown to the tokenizer"):
        adapted(tmp_path / "none", folder, pairs=lambda: strange)

"""The loss and the batches of the BERT rater."""

from __future__ import annotations

from itertools import chain
from typing import Any, Literal

import numpy as np
import pytest
import torch

from interloq.models.cross_encoder import CrossEncoder, rows
from interloq.models.subwords import Subwords
from interloq.models.token_rows import Packed
from interloq.rate.bert_task import BertRaterTask
from interloq.rate.pairs import RaterPairs
from interloq.rate.settings import Batching
from tests.made_bert import SMALL_BATCHES, bert_examples

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


def test_packed_rows_have_the_same_loss(made: tuple[RaterPairs, Subwords]) -> None:
    task, examples = task_of(made), np.array([0, 3, 1, 7])
    expected = float(task.loss(task.prepare("dev", examples)).detach())
    with task.network.packing.enabled(torch.device("cpu")):
        batch = task.prepare("dev", examples)
        assert isinstance(batch.rows, Packed)
        assert float(task.loss(batch).detach()) == pytest.approx(expected, rel=1e-5)

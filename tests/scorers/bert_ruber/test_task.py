"""The loss of BERT-RUBER and its random replies."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from interloq.models.encoder import Encoder
from interloq.scorers.bert_ruber.settings import BertRuberSettings
from interloq.scorers.bert_ruber.task import BertRuberTask, start
from tests.scorers.bert_ruber.made_scorer import stored


def test_the_loss_is_the_cross_entropy_of_true_and_random_replies(encoder: Encoder, tmp_path: Path) -> None:
    task = BertRuberTask(start(encoder.dimensions, 0), stored(tmp_path, encoder), BertRuberSettings(batch=16))
    (batch, *_) = task.batches("dev", 0)
    prepared = task.prepare("dev", batch)
    with torch.inference_mode():
        true, random_ = (torch.sigmoid(part.double()) for part in task.logits(prepared))
        expected = -sum(math.log(s) for s in true.tolist()) - sum(math.log(1 - s) for s in random_.tolist())
        assert float(task.loss(prepared)) == pytest.approx(expected, rel=1e-5)


def test_every_epoch_sees_every_pair_with_other_random_replies(encoder: Encoder, tmp_path: Path) -> None:
    pairs = stored(tmp_path, encoder)
    task = BertRuberTask(start(encoder.dimensions, 0), pairs, BertRuberSettings(batch=16))
    count = len(pairs.rows("train"))
    seen = [np.concatenate(task.batches("train", epoch)) for epoch in (1, 2)]
    for examples in seen:
        assert sorted((examples % count).tolist()) == list(range(count))
    same = np.arange(count)
    first, second = (task.prepare("train", same + epoch * count) for epoch in (1, 2))
    assert torch.equal(first[1], second[1])
    assert not torch.equal(first[2], second[2])
    again = task.batches("train", 1)
    assert (np.concatenate(again) == seen[0]).all()
    assert (np.concatenate(task.batches("dev", 0)) == np.concatenate(task.batches("dev", 3))).all()

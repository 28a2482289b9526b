# SPDX-License-Identifier: Apache-2.0
"""Training task of BERT-RUBER's scorer: tell a true reply from a random one.

J = −log s(q, r) − log( 1 − s(q, r⁻) ), with r⁻ the reply to another utterance, redrawn in every epoch
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn.functional import softplus

from interloq.learn.pair_tokens import Numbers, Part
from interloq.scorers.bert_ruber.features import PairVectors
from interloq.scorers.bert_ruber.model import BertRuberNetwork
from interloq.scorers.bert_ruber.settings import BertRuberSettings
from interloq.scorers.ruber.task import random_replies

BertRuberBatch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # vectors of utterances, true replies and random ones


class BertRuberTask:
    """Pairs with their random replies. Example e · n + i is pair i of n with the random reply of epoch e."""

    def __init__(self, network: BertRuberNetwork, pairs: PairVectors, settings: BertRuberSettings) -> None:
        self.network, self.pairs, self.settings = network, pairs, settings

    def batches(self, part: Part, epoch: int) -> Sequence[Numbers]:
        count, size = len(self.pairs.rows(part)), self.settings.batch
        order = np.arange(count)
        if part == "train":
            order = np.random.default_rng([self.settings.seed, epoch]).permutation(count) + epoch * count
        return [order[i : i + size] for i in range(0, count, size)]

    def prepare(self, part: Part, examples: Numbers) -> BertRuberBatch:
        rows = self.pairs.rows(part)
        chosen = rows[examples % len(rows)]
        others = random_replies(rows, examples, self.settings.seed)
        queries, true, random = (torch.from_numpy(self.pairs.of(t)) for t in (chosen[:, 0], chosen[:, 1], others))
        return queries, true, random

    def logits(self, prepared: BertRuberBatch) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of the true replies and of the random ones."""
        queries, true, random = (part.to(self.network.matrix.device, non_blocking=True) for part in prepared)
        return self.network(queries, true), self.network(queries, random)

    def loss(self, prepared: BertRuberBatch) -> torch.Tensor:
        true, random = self.logits(prepared)
        return (softplus(-true) + softplus(random)).sum()


def start(dimensions: int, seed: int) -> BertRuberNetwork:
    """The untrained network; the same for the same seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return BertRuberNetwork(dimensions)


def wins(task: BertRuberTask) -> float:
    """Share of dev pairs whose true reply scores above the random one; .5 is chance."""
    task.network.eval()
    won = 0.0
    with torch.inference_mode():
        for examples in task.batches("dev", 0):
            true, random = task.logits(task.prepare("dev", examples))
            won += float((true > random).sum()) + float((true == random).sum()) / 2
    return won / task.pairs.dev

# SPDX-License-Identifier: Apache-2.0
"""Training task of RUBER's unreferenced scorer: a true reply must beat a random one by a margin.

J = max(0, Δ − s(q, r) + s(q, r⁻)), Δ = .5, with r⁻ the reply to another utterance, redrawn in every epoch
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.learn.draws import mixed
from interloq.learn.pair_tokens import Numbers, PairTokens, Part
from interloq.models.batches import bucketed
from interloq.scorers.ruber.model import RuberNetwork
from interloq.scorers.ruber.settings import Unreferenced

TOKENS = 2**16  # per batch, padding included
DRAWS = 16  # attempts to find a reply to another utterance


class RuberTask:
    """Pairs with their random replies. Example e · n + i is pair i of n with the random reply of epoch e."""

    def __init__(self, network: RuberNetwork, pairs: PairTokens, settings: Unreferenced) -> None:
        self.network, self.pairs, self.settings = network, pairs, settings

    def batches(self, part: Part, epoch: int) -> Sequence[Numbers]:
        rows = self.pairs.rows(part)
        rng = np.random.default_rng([self.settings.seed, epoch]) if part == "train" else None
        longest = self.pairs.lengths[rows].max(axis=1)
        batches = bucketed(longest, size=self.settings.batch, tokens=TOKENS, rng=rng)
        return batches if rng is None else [batch + epoch * len(rows) for batch in batches]

    def prepare(self, part: Part, examples: Numbers) -> RuberBatch:
        rows = self.pairs.rows(part)
        chosen = np.asarray(rows[examples % len(rows)], dtype=np.int64)
        others = random_replies(rows, examples, self.settings.seed)
        queries, query = np.unique(chosen[:, 0], return_inverse=True)
        replies, reply = np.unique(np.concatenate([chosen[:, 1], others]), return_inverse=True)
        true, random = np.split(reply, 2)
        numbers = (*self.pairs.texts(queries), query, *self.pairs.texts(replies), true, random)
        return RuberBatch(*(torch.from_numpy(np.asarray(array, dtype=np.int64)) for array in numbers))

    def scores(self, prepared: RuberBatch) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores of the true replies and of the random ones."""
        p, device = prepared, self.network.matrix.device
        queries = self.network.query(p.queries.to(device), p.query_lengths)[p.query.to(device)]
        replies = self.network.reply(p.replies.to(device), p.reply_lengths)
        true, random = replies[p.true.to(device)], replies[p.random.to(device)]
        return self.network(queries, true), self.network(queries, random)

    def loss(self, prepared: RuberBatch) -> torch.Tensor:
        true, random = self.scores(prepared)
        return torch.relu(self.settings.margin - true + random).sum()


@dataclass(frozen=True, slots=True)
class RuberBatch:
    """The concatenated distinct texts of a batch, and the indices of each example's texts."""

    queries: torch.Tensor
    query_lengths: torch.Tensor
    query: torch.Tensor
    replies: torch.Tensor
    reply_lengths: torch.Tensor
    true: torch.Tensor
    random: torch.Tensor


def random_replies(rows: NDArray[np.int32], examples: Numbers, seed: int) -> Numbers:
    """Reply of a random pair with another utterance and another reply, for each example.

    It depends only on seed and example. If DRAWS draws find none, the last one is used.
    """
    own = rows[examples % len(rows)]
    replies = np.zeros(len(examples), dtype=np.int64)
    open_ = np.arange(len(examples))
    for draw in range(DRAWS):
        other = rows[(mixed(examples[open_], seed, draw) % np.uint64(len(rows))).astype(np.int64)]
        replies[open_] = other[:, 1]
        open_ = open_[(other == own[open_]).any(axis=1)]
        if not len(open_):
            break
    return replies


def start(vocabulary: int, settings: Unreferenced) -> RuberNetwork:
    """The untrained network; the same for the same seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return RuberNetwork(vocabulary=vocabulary, embedding=settings.embedding, hidden=settings.hidden)


def wins(task: RuberTask) -> float:
    """Share of dev pairs whose true reply scores above the random one; .5 is chance."""
    task.network.eval()
    won = 0.0
    with torch.inference_mode():
        for examples in task.batches("dev", 0):
            true, random = task.scores(task.prepare("dev", examples))
            won += float((true > random).sum()) + float((true == random).sum()) / 2
    return won / task.pairs.dev

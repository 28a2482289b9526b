# SPDX-License-Identifier: Apache-2.0
"""Training task of a tuned judge: put the replies of a set in the order of their ratings.

    J = Σ softplus(−(z_i − z_j) · sign(y_i − y_j)) · |y_i − y_j|  /  Σ |y_i − y_j|      over all pairs of a batch

z are the network's logits, y the ranks of the replies' ratings in their set, from −1 to 1. A batch has replies of one
set only, and every set has the same number of batches per epoch, so every set counts the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from interloq.learn.fit import Part
from interloq.models.batches import bucketed
from interloq.models.cross_encoder import CrossEncoder, joined_rows, row_lengths
from interloq.models.row_outputs import BATCH, TOKENS
from interloq.models.subwords import Subwords
from interloq.models.token_rows import Packed, TokenRows
from interloq.scorers.judge.replies import RatedReplies
from interloq.scorers.judge.settings import TuneSettings
from interloq.statistics.ridge import TINY, Floats, Head, Ints, heads, interval, spearman


@dataclass(frozen=True, slots=True)
class JudgeBatch:
    """Replies of one set with the ranks of their ratings. The loss is of the replies at `own`, against all others."""

    rows: TokenRows | Packed
    targets: torch.Tensor
    own: torch.Tensor
    scale: float


class TuneTask:
    """Learns from rated replies. Example g · batch + i is reply i of the part's group g.

    Several processes share the examples of a batch. Each reads its whole group, so their losses add up to that of one.
    """

    def __init__(
        self, network: CrossEncoder, replies: RatedReplies, settings: TuneSettings, subwords: Subwords
    ) -> None:
        self.network, self.replies, self.settings, self.subwords = network, replies, settings, subwords
        self._current: dict[Part, list[Ints]] = {}

    def batches(self, part: Part, epoch: int) -> Sequence[Ints]:
        if part == "train":
            self._current[part] = self._draw_groups(epoch)
        else:
            self._current[part] = self._dev_groups
        groups = enumerate(self._current[part])
        return [number * self.settings.batch + np.arange(len(group)) for number, group in groups]

    def prepare(self, part: Part, examples: Ints) -> JudgeBatch:
        numbers, own = np.divmod(examples, self.settings.batch)
        group = self._current[part][int(numbers[0])]
        targets = torch.from_numpy(self.replies.targets[group].astype(np.float32))
        scale = 1.0
        if part == "dev":
            scale = self._dev_scales[int(self.replies.sets[group[0]])]
        return JudgeBatch(self.network.packing.arranged(self._rows(group)), targets, torch.from_numpy(own), scale)

    def loss(self, prepared: JudgeBatch) -> torch.Tensor:
        logits = self.network(prepared.rows)[:, 0].float()
        own = prepared.own.to(logits.device, non_blocking=True)
        targets = prepared.targets.to(logits.device, non_blocking=True)
        apart = targets.index_select(0, own)[:, None] - targets
        behind = logits - logits.index_select(0, own)[:, None]
        losses = torch.nn.functional.softplus(behind * apart.sign()) * apart.abs()
        total = (targets[:, None] - targets).abs().sum().clamp_min(TINY)  # 0 if all ratings are equal
        return losses.sum() / total * len(targets) * prepared.scale

    @cached_property
    def sets(self) -> dict[Part, dict[int, Ints]]:
        """Replies of each set in each part; a set that has fewer than two replies for training is not trained on."""
        replies = self.replies
        train, dev = {}, {}
        for number in np.unique(replies.sets).tolist():
            dev[number] = np.flatnonzero((replies.sets == number) & replies.dev)
            trained_on = np.flatnonzero((replies.sets == number) & ~replies.dev)
            if len(trained_on) > 1:
                train[number] = trained_on
        return {"train": train, "dev": dev}

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def logits(self, which: Ints) -> Floats:
        """Logits of some replies."""
        self.network.eval()
        logits = np.zeros(len(which))
        lengths = row_lengths(self.replies.texts.lengths.reshape(-1, 2)[which])
        most = TOKENS[self.network.head.weight.device.type]
        for part in bucketed(lengths, size=BATCH, tokens=most, rng=None):
            logits[part] = self.network(self._rows(which[part]))[:, 0].double().cpu().numpy()
        return logits

    @cached_property
    def head(self) -> Head:
        """The trained network's head, scaled to ranks of the training replies, with its agreement on held-out ones."""
        dev = self.replies.dev
        logits = self.logits(np.arange(len(dev)))
        rated = self.replies.with_states(logits[:, None])
        (line,) = heads(rated[~dev], strengths=(TINY,))
        slope, own = float(line.weights[0]), self.network.head
        weights = slope * own.weight.detach().double().cpu().numpy()[0]
        unseen = rated[dev]
        return Head(
            weights,
            slope * own.bias.item() + line.offset,
            TINY,
            spearman(unseen, logits[dev]),
            interval(unseen, logits[dev]),
        )

    def _rows(self, which: Ints) -> TokenRows:
        return joined_rows(self.replies.texts, 2 * which[:, None] + np.arange(2), self.subwords)

    def _draw_groups(self, epoch: int) -> list[Ints]:
        """Draw the groups of an epoch: rounds with one group of each set, in random order."""
        rng, size = np.random.default_rng([self.settings.seed, epoch]), self.settings.batch
        rounds = max(1, round(self.settings.replies / size))
        drawn = {}
        for number, replies in self.sets["train"].items():
            drawn[number] = _draw_repeatedly(replies, rounds, min(size, len(replies)), rng)
        groups: list[Ints] = []
        for k in range(rounds):
            groups += [drawn[number][k] for number in rng.permutation(list(drawn))]
        return groups

    @cached_property
    def _dev_groups(self) -> list[Ints]:
        groups: list[Ints] = []
        for replies in self.sets["dev"].values():
            groups += np.array_split(replies, math.ceil(len(replies) / self.settings.batch))
        return groups

    @cached_property
    def _dev_scales(self) -> dict[int, float]:
        """Factors by which every set counts the same in the dev loss."""
        sets, total = self.sets["dev"], int(self.replies.dev.sum())
        return {number: total / (len(sets) * len(replies)) for number, replies in sets.items()}


def _draw_repeatedly(replies: Ints, rounds: int, size: int, rng: np.random.Generator) -> Ints:
    """Groups [rounds, size]: every reply is drawn once before any is drawn again."""
    passes = math.ceil(rounds * size / len(replies))
    return np.concatenate([rng.permutation(replies) for _ in range(passes)])[: rounds * size].reshape(rounds, size)

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
from interloq.models.token_rows import Packed, Rows
from interloq.scorers.judge.replies import RatedReplies
from interloq.scorers.judge.ridge import TINY, Floats, Head, Ints, heads, interval, spearman
from interloq.scorers.judge.settings import TuneSettings


@dataclass(frozen=True, slots=True)
class Prepared:
    """Replies of one set with the ranks of their ratings. The loss is of the replies at `own`, against all others."""

    rows: Rows | Packed
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
        groups = self._current[part] = self._drawn(epoch) if part == "train" else self._dev_groups
        return [number * self.settings.batch + np.arange(len(group)) for number, group in enumerate(groups)]

    def prepare(self, part: Part, examples: Ints) -> Prepared:
        numbers, own = np.divmod(examples, self.settings.batch)
        group = self._current[part][int(numbers[0])]
        targets = torch.from_numpy(self.replies.targets[group].astype(np.float32))
        scale = 1.0 if part == "train" else self._dev_scales[int(self.replies.sets[group[0]])]
        return Prepared(self.network.packing.arranged(self._rows(group)), targets, torch.from_numpy(own), scale)

    def loss(self, prepared: Prepared) -> torch.Tensor:
        logits = self.network(prepared.rows)[:, 0].float()
        own, targets = (part.to(logits.device, non_blocking=True) for part in (prepared.own, prepared.targets))
        apart = targets.index_select(0, own)[:, None] - targets
        behind = logits - logits.index_select(0, own)[:, None]
        losses = torch.nn.functional.softplus(behind * apart.sign()) * apart.abs()
        total = (targets[:, None] - targets).abs().sum().clamp_min(TINY)  # 0 if all ratings are equal
        return losses.sum() / total * len(targets) * prepared.scale

    @cached_property
    def sets(self) -> dict[Part, dict[int, Ints]]:
        """Replies of each set in each part; a set that has fewer than two replies for training is not trained on."""
        replies = self.replies
        numbers = np.unique(replies.sets).tolist()
        train = {i: np.flatnonzero((replies.sets == i) & ~replies.dev) for i in numbers}
        dev = {i: np.flatnonzero((replies.sets == i) & replies.dev) for i in numbers}
        return {"train": {i: own for i, own in train.items() if len(own) > 1}, "dev": dev}

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def logits(self, which: Ints) -> Floats:
        """Logits of some replies."""
        self.network.eval()
        found = np.zeros(len(which))
        lengths = row_lengths(self.replies.texts.lengths.reshape(-1, 2)[which])
        most = TOKENS[self.network.head.weight.device.type]
        for part in bucketed(lengths, size=BATCH, tokens=most, rng=None):
            found[part] = self.network(self._rows(which[part]))[:, 0].double().cpu().numpy()
        return found

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

    def _rows(self, which: Ints) -> Rows:
        return joined_rows(self.replies.texts, 2 * which[:, None] + np.arange(2), self.subwords)

    def _drawn(self, epoch: int) -> list[Ints]:
        """Groups of an epoch: rounds with one group of each set, in random order."""
        rng, size = np.random.default_rng([self.settings.seed, epoch]), self.settings.batch
        rounds = max(1, round(self.settings.replies / size))
        drawn = {i: _repeated(own, rounds, min(size, len(own)), rng) for i, own in self.sets["train"].items()}
        return [drawn[i][k] for k in range(rounds) for i in rng.permutation(list(drawn))]

    @cached_property
    def _dev_groups(self) -> list[Ints]:
        found = [np.array_split(own, math.ceil(len(own) / self.settings.batch)) for own in self.sets["dev"].values()]
        return [group for groups in found for group in groups]

    @cached_property
    def _dev_scales(self) -> dict[int, float]:
        """Factors by which every set counts the same in the dev loss."""
        sizes = {i: len(own) for i, own in self.sets["dev"].items()}
        return {i: sum(sizes.values()) / (len(sizes) * size) for i, size in sizes.items()}


def _repeated(replies: Ints, rounds: int, size: int, rng: np.random.Generator) -> Ints:
    """Groups [rounds, size]: every reply is drawn once before any is drawn again."""
    passes = math.ceil(rounds * size / len(replies))
    return np.concatenate([rng.permutation(replies) for _ in range(passes)])[: rounds * size].reshape(rounds, size)

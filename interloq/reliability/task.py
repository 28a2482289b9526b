# SPDX-License-Identifier: Apache-2.0
"""Training task of REAM#'s network (Gao et al., 2021): predict labels, and rank a set above worse ones.

J = (f(q, R) − c)² + mean over the worse sets R⁻ of max(0, Δ − f(q, R) + f(q, R⁻))

A worse set lacks a reference without which the label falls, or has a foreign reference in addition or as a replacement.
Foreign references are redrawn in every epoch. The paper's γ‖θ‖₂ is the weight decay of the optimizer.

Members of the ensemble are trained side by side. Each weights the queries by its own random numbers (the Bayesian
bootstrap of Rubin, 1981), so that they disagree where the data says little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.learn.fit import dev_outputs
from interloq.models.token_rows import TokenRows
from interloq.reliability.labelled_sets import Ints, LabelledSets, Part, worse_sets
from interloq.reliability.network import TunedReliabilityNetwork
from interloq.reliability.settings import ReliabilitySettings

Take = Callable[[Ints], torch.Tensor | TokenRows]  # input of the network for some pairs, given by number


@dataclass(frozen=True, slots=True)
class PreparedReliability:
    """A batch: its distinct pairs, and sets [examples, 1 + worse, width] as indices of these."""

    pairs: torch.Tensor | TokenRows
    sets: torch.Tensor
    there: torch.Tensor  # whether each worse set exists [examples, worse]
    values: torch.Tensor
    weights: torch.Tensor  # of each example for each member [members, examples]


class ReliabilityTask:
    """Learns from labelled sets. Example e · n + i is set i of n with the worse sets of epoch e."""

    def __init__(
        self, network: TunedReliabilityNetwork, sets: LabelledSets, take: Take, settings: ReliabilitySettings
    ) -> None:
        self.network, self.sets, self.take, self.settings = network, sets, take, settings
        self.rows: dict[Part, Ints] = {"train": sets.rows("train"), "dev": sets.rows("dev")}
        queries = len(sets.dev)
        self.weights = np.ones((1, queries))  # of each query for each member; a single member weighs all equally
        if settings.ensemble > 1:
            rng = np.random.default_rng([settings.seed, queries])
            self.weights = rng.exponential(size=(settings.ensemble, queries))

    def batches(self, part: Part, epoch: int) -> Sequence[Ints]:
        n, size = len(self.rows[part]), self.settings.batch
        order = np.arange(n)
        if part == "train":
            order = np.random.default_rng([self.settings.seed, epoch]).permutation(n) + epoch * n
        return [order[i : i + size] for i in range(0, n, size)]

    def prepare(self, part: Part, examples: Ints) -> PreparedReliability:
        rows = self.rows[part][examples % len(self.rows[part])]
        worse, there = worse_sets(self.sets, rows, examples, number=self.settings.negatives, seed=self.settings.seed)
        own = np.pad(self.sets.sets[rows], ((0, 0), (0, 1)), constant_values=-1)
        distinct, places = np.unique(np.concatenate([own[:, None], worse], axis=1), return_inverse=True)
        places = places.reshape(len(rows), -1, own.shape[1]) - 1  # the first number stands for padding
        weights = np.ones((len(self.weights), len(rows)))
        if part == "train":
            weights = self.weights[:, self.sets.query[rows]]
        arrays = (places, there, self.sets.values[rows].astype(np.float32), weights.astype(np.float32))
        return PreparedReliability(self.take(distinct[1:]), *map(torch.from_numpy, arrays))

    def scores(self, prepared: PreparedReliability) -> torch.Tensor:
        """Return predictions [members, examples, 1 + worse]; the set itself comes first."""
        sets = prepared.sets.to(self.network.device)
        predictions = self.network(prepared.pairs, sets.flatten(0, 1)).float()
        return predictions.unflatten(1, sets.shape[:2])

    def loss(self, prepared: PreparedReliability) -> torch.Tensor:
        predictions = self.scores(prepared)
        there, values, weights = (
            part.to(predictions.device) for part in (prepared.there, prepared.values, prepared.weights)
        )
        own, worse = predictions[..., 0], predictions[..., 1:]
        short = torch.relu(self.settings.margin - own.unsqueeze(-1) + worse) * there
        losses = (own - values) ** 2 + short.sum(dim=-1) / there.sum(dim=-1).clamp(min=1)
        total = (weights * losses).sum()
        # the value is the mean over members, the gradient is taken of their sum: each learns as if it were alone
        return total + (total / len(predictions) - total).detach()


def dev_scores(task: ReliabilityTask) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return mean predictions [sets, 1 + worse] of the ensemble on the dev part, and which worse sets exist."""
    predictions, there = [], []
    for _, prepared, means in dev_outputs(task, lambda batch: task.scores(batch).mean(dim=0)):
        predictions.append(means)
        there.append(prepared.there.numpy())
    return np.concatenate(predictions), np.concatenate(there)

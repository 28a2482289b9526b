# SPDX-License-Identifier: Apache-2.0
"""Network and training task of the models that judge replies as the interlocutor: one logit z per sample.

dcp           J = −w_y · log P(y),  P(1) = σ(z)        y: whether the reply was answered
interlocutor  J = (z − (y − m) / s)²                   y: the rating; m, s: mean and deviation of the training part

With balanced classes, w_y = n / (2 n_y); z then lacks log(n_1 / n_0), which is added when scoring.

The network is a cross-encoder with tokens for speakers: the side that is judged, the judge, and users that it knows.

    e(user) = e(judge) + the user's own vector

So every sample trains the judge's token, and a user without a vector is treated as the judge in general: as anyone. The
users' vectors start at random, as far apart as words, so that users differ from the first step on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.learn.cross_encoder_job import PairRows
from interloq.learn.fit import Part
from interloq.models.batches import make_batches, random_bits
from interloq.models.cross_encoder import CrossEncoder
from interloq.models.pretrained import Subwords
from interloq.models.token_rows import Packed, TokenRows
from interloq.scorers.interlocutor.examples import InterlocutorExamples, Ints
from interloq.scorers.interlocutor.reader import JUDGE, USERS
from interloq.scorers.interlocutor.settings import DCP, Target

Floats = NDArray[np.float64]
TOKENS = 2**16  # per batch, padding included


class SpeakerEncoder(CrossEncoder):
    """Token ids from `vocabulary` on belong to speakers, in the order of `reader`; the head has one output."""

    def __init__(self, base: CrossEncoder, users: int, *, added: int = 0) -> None:
        super().__init__(base.encoder, 1)
        self.head = base.head
        words = self.encoder.get_input_embeddings().weight.detach().float()
        centre, size = words.mean(dim=0), words.shape[1]
        self.sides = torch.nn.Parameter(centre + words.std() * torch.randn(2, size))
        own = torch.nn.Parameter(words.std() * torch.randn(users, size)) if users else None
        self.register_parameter("users", own)
        new = torch.nn.Parameter(torch.zeros(added, size)) if added else None
        self.register_parameter("added", new)

    def _inputs(self, rows: TokenRows | Packed) -> dict[str, Any]:
        given = super()._inputs(rows)
        ids = given.pop("input_ids")
        return {**given, "inputs_embeds": self._embed(ids)}

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        words = self.encoder.get_input_embeddings()(ids.clamp(max=self.vocabulary - 1))
        speakers = torch.nn.functional.embedding((ids - self.vocabulary).clamp(min=0), self._speakers())
        return torch.where((ids < self.vocabulary)[..., None], words, speakers.to(words.dtype))

    def _speakers(self) -> torch.Tensor:
        """Return the embeddings of all speakers' tokens."""
        own = [self.sides[JUDGE] + part for part in (self.users, self.added) if part is not None]
        return torch.cat([self.sides, *own])


@dataclass(frozen=True, slots=True)
class OutputScale:
    """How outputs of the network relate to what is predicted: value = mean + spread · (output + shift)."""

    shift: float = 0.0
    mean: float = 0.0
    spread: float = 1.0


@dataclass(frozen=True, slots=True)
class InterlocutorBatch:
    """Rows of a batch, with what is predicted and the weight of each in the loss."""

    rows: TokenRows | Packed
    targets: torch.Tensor
    weights: torch.Tensor


class InterlocutorTask:
    """Learns from examples; without a scale, it uses the scale of their training part.

    Example e · n + i of a batch is example i of n in epoch e.
    """

    def __init__(
        self,
        network: SpeakerEncoder,
        examples: InterlocutorExamples,
        subwords: Subwords,
        target: Target,
        scale: OutputScale | None = None,
    ) -> None:
        self.network, self.examples, self.target = network, examples, target
        self.own: dict[Part, Ints] = {"train": examples.of("train"), "dev": examples.of("dev")}
        self.pairs = PairRows(examples.texts, subwords)
        self.scale = scale or self._fit_scale()

    def _fit_scale(self) -> OutputScale:
        """Return the scale of the training part."""
        values = self.examples.values[self.own["train"]]
        if self.target.kind != DCP:
            return OutputScale(mean=float(values.mean()), spread=float(values.std()))
        positive = float(values.mean())
        return OutputScale(shift=float(np.log(positive / (1 - positive))) if self.target.balance else 0.0)

    @cached_property
    def _weights(self) -> NDArray[np.float32]:
        """Weight of each example in the loss."""
        values = self.examples.values
        if not self.target.balance:
            return np.ones(len(values), dtype=np.float32)
        positive = values[self.own["train"]].mean()
        return np.asarray(np.where(values == 1, 0.5 / positive, 0.5 / (1 - positive)), dtype=np.float32)

    def batches(self, part: Part, epoch: int) -> Sequence[Ints]:
        own = self.own[part]
        rng = np.random.default_rng([self.target.seed, epoch]) if part == "train" else None
        batches = make_batches(self.pairs.lengths[own], size=self.target.batch, tokens=TOKENS, rng=rng)
        return [own[chosen] + epoch * len(self.examples.values) for chosen in batches]

    def prepare(self, part: Part, examples: Ints) -> InterlocutorBatch:
        which = examples % len(self.examples.values)
        scaled = (self.examples.values[which] - self.scale.mean) / self.scale.spread
        targets = torch.from_numpy(scaled.astype(np.float32))
        weights = torch.from_numpy(self._weights[which])
        rows = self.pairs.rows(which)
        if part == "train":
            self._drop_users(rows.ids.numpy(), examples)
        return InterlocutorBatch(self.network.packing.arrange(rows), targets, weights)

    def _drop_users(self, ids: NDArray[np.int32], examples: Ints) -> None:
        """Replace users' tokens by the judge's in some rows, drawn again in each epoch."""
        drawn, first = random_bits(examples, self.target.seed, 0) / 2**64 < self.target.anyone, self.network.vocabulary
        ids[drawn] = np.where(ids[drawn] >= first + USERS, first + JUDGE, ids[drawn])

    def loss(self, prepared: InterlocutorBatch) -> torch.Tensor:
        logits = self.network(prepared.rows)[:, 0].float()
        targets = prepared.targets.to(logits.device, non_blocking=True)
        weights = prepared.weights.to(logits.device, non_blocking=True)
        if self.target.kind == DCP:
            return torch.nn.functional.binary_cross_entropy_with_logits(logits, targets, weights, reduction="sum")
        return torch.nn.functional.mse_loss(logits, targets, reduction="sum")

    def predict(self, part: Part) -> tuple[Floats, Floats]:
        """Return the predictions for the examples of a part (logits of continuity), and their values."""
        own, scale = self.own[part], self.scale
        outputs = self.pairs.outputs(self.network, own)
        return scale.mean + scale.spread * (outputs + scale.shift), self.examples.values[own]

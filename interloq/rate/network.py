# SPDX-License-Identifier: Apache-2.0
"""The NN-rater's network (Tsuta et al., 2020 and 2023): can R2 be a reply to U1, given the reply R1?

Three texts ⟨U1, R1, R2⟩ → shared Bi-GRU → [v(U1); v(R1); v(R2)] → five ReLU layers → two logits. It never sees both
utterances of a pair of pairs: those of positive examples are the same, and it would only learn to compare them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.learn.fit import Part
from interloq.learn.gru import SentenceGru
from interloq.models.batches import bucketed
from interloq.rate.pairs import RaterPairs
from interloq.rate.settings import Batching, Shape


class RaterNetwork(torch.nn.Module):  # type: ignore[misc]
    """Bi-GRU, and layers that turn its vectors into logits."""

    def __init__(self, vocabulary: int, shape: Shape) -> None:
        super().__init__()
        self.vocabulary, self.shape = vocabulary, shape
        self.encoder = SentenceGru(vocabulary=vocabulary, embedding=shape.embedding, hidden=shape.hidden)
        widths = [6 * shape.hidden, *[shape.width] * shape.layers]
        hidden = [
            part for own, following in pairwise(widths) for part in (torch.nn.Linear(own, following), torch.nn.ReLU())
        ]
        self.judge = torch.nn.Sequential(*hidden, torch.nn.Linear(widths[-1], 2))

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor, triplets: torch.Tensor) -> torch.Tensor:
        """Logits [n, 2] of n triplets of text numbers; `tokens` is the concatenation of the texts."""
        return self.logits(self.encoder(tokens, lengths), triplets)

    def logits(self, vectors: torch.Tensor, triplets: torch.Tensor) -> torch.Tensor:
        """Logits from the vectors of texts: each text is encoded once, however many triplets use it."""
        logits: torch.Tensor = self.judge(vectors[triplets].flatten(1))
        return logits

    def config(self) -> dict[str, Any]:
        """Configuration from which the network can be rebuilt."""
        return {"vocabulary": self.vocabulary, "shape": asdict(self.shape)}


@dataclass(frozen=True, slots=True)
class GruBatch:
    """Concatenated texts, triplets of text numbers, and labels."""

    tokens: torch.Tensor
    lengths: torch.Tensor
    triplets: torch.Tensor  # ⟨U1, R1, R2⟩ of all examples, then ⟨U2, R2, R1⟩
    labels: torch.Tensor


class RaterTask:
    """Learns from examples (U1, R1, U2, R2): triplets ⟨U1, R1, R2⟩ and ⟨U2, R2, R1⟩ share the label."""

    def __init__(self, network: RaterNetwork, pairs: RaterPairs, batching: Batching, *, seed: int) -> None:
        self.network, self.pairs, self.batching, self.seed = network, pairs, batching, seed
        self._examples = {part: pairs.examples(part) for part in ("train", "dev")}

    def batches(self, part: Part, epoch: int) -> list[NDArray[np.int64]]:
        rows, _ = self._examples[part]
        rng = np.random.default_rng([self.seed, epoch]) if part == "train" else None
        longest = self.pairs.texts.lengths[rows].max(axis=1)
        return bucketed(longest, size=self.batching.batch, tokens=self.batching.tokens, rng=rng)

    def prepare(self, part: Part, examples: NDArray[np.int64]) -> GruBatch:
        rows, labels = (array[examples] for array in self._examples[part])
        distinct, places = np.unique(rows, return_inverse=True)
        u1, r1, u2, r2 = places.reshape(rows.shape).T
        triplets = np.concatenate([np.column_stack([u1, r1, r2]), np.column_stack([u2, r2, r1])])
        tokens, lengths = self.pairs.texts.joined(distinct)
        return GruBatch(
            torch.from_numpy(tokens),
            torch.from_numpy(lengths),
            torch.from_numpy(triplets),
            torch.from_numpy(np.tile(labels.astype(np.int64), 2)),
        )

    def loss(self, prepared: GruBatch) -> torch.Tensor:
        """Sum over examples of the mean loss of their two triplets."""
        logits = self.logits(prepared).float()
        labels = prepared.labels.to(logits.device)
        return torch.nn.functional.cross_entropy(logits, labels, reduction="sum") / 2

    def logits(self, prepared: GruBatch) -> torch.Tensor:
        device = next(self.network.parameters()).device
        on = [t.to(device, non_blocking=True) for t in (prepared.tokens, prepared.triplets)]
        logits: torch.Tensor = self.network(on[0], prepared.lengths, on[1])
        return logits

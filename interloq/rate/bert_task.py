# SPDX-License-Identifier: Apache-2.0
"""Training task of the BERT rater: a transformer reads ⟨U1, R1, R2⟩ together and predicts if R2 can be a reply to U1.

    [CLS] U1 [SEP] R1 [SEP] R2 [SEP]  →  first state  →  two logits

As with the Bi-GRU, no triplet has both utterances: those of positive examples are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.learn.fit import Part
from interloq.models.batches import bucketed
from interloq.models.cross_encoder import CrossEncoder, joined_rows, row_lengths
from interloq.models.subwords import Subwords
from interloq.models.token_rows import Packed, TokenRows
from interloq.rate.pairs import RaterPairs
from interloq.rate.settings import Batching

Ints = NDArray[np.int64]
FIRST, SECOND = [0, 1, 3], [2, 3, 1]  # indices of U1, R1, R2 and of U2, R2, R1 in an example (U1, R1, U2, R2)


@dataclass(frozen=True, slots=True)
class BertBatch:
    """Token rows and labels."""

    rows: TokenRows | Packed  # first triplets, then second ones
    labels: torch.Tensor


class BertRaterTask:
    """Learns from examples (U1, R1, U2, R2): triplets ⟨U1, R1, R2⟩ and ⟨U2, R2, R1⟩ share the label."""

    def __init__(
        self, network: CrossEncoder, pairs: RaterPairs, subwords: Subwords, batching: Batching, *, seed: int
    ) -> None:
        self.network, self.pairs, self.subwords, self.batching, self.seed = network, pairs, subwords, batching, seed
        self._examples = {part: pairs.examples(part) for part in ("train", "dev")}

    def batches(self, part: Part, epoch: int) -> list[Ints]:
        """Batches of examples; `tokens` counts both rows of an example."""
        rng = np.random.default_rng([self.seed, epoch]) if part == "train" else None
        lengths = self.pairs.texts.lengths[self._examples[part][0]]
        longest = np.maximum(*(row_lengths(lengths[:, places], self.network.positions) for places in (FIRST, SECOND)))
        return bucketed(2 * longest, size=self.batching.batch, tokens=self.batching.tokens, rng=rng)

    def prepare(self, part: Part, examples: Ints) -> BertBatch:
        texts, labels = (array[examples] for array in self._examples[part])
        indices = np.concatenate([texts[:, FIRST], texts[:, SECOND]])
        rows = joined_rows(self.pairs.texts, indices, self.subwords, limit=self.network.positions)
        return BertBatch(self.network.packing.arranged(rows), torch.from_numpy(np.tile(labels.astype(np.int64), 2)))

    def loss(self, prepared: BertBatch) -> torch.Tensor:
        """Sum over examples of the mean loss of their two triplets."""
        logits = self.logits(prepared).float()
        labels = prepared.labels.to(logits.device, non_blocking=True)
        return torch.nn.functional.cross_entropy(logits, labels, reduction="sum") / 2

    def logits(self, prepared: BertBatch) -> torch.Tensor:
        logits: torch.Tensor = self.network(prepared.rows)
        return logits

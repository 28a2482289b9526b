# SPDX-License-Identifier: Apache-2.0
"""A bidirectional GRU that turns texts into vectors: the last states of both directions, concatenated.

Texts are given concatenated and are packed, so no time is spent on padding.
"""

from __future__ import annotations

import torch
from torch.nn.utils.rnn import PackedSequence


class SentenceGru(torch.nn.Module):  # type: ignore[misc]
    """A bidirectional GRU that computes one vector per text."""

    def __init__(self, *, vocabulary: int, embedding: int = 512, hidden: int = 512) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, embedding)
        self.gru = torch.nn.GRU(embedding, hidden, bidirectional=True)

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Vectors [n, 2 · hidden] of n texts; `tokens` is their concatenation, `lengths` (on the CPU) their lengths."""
        places, sizes, order = packing(lengths)
        packed = PackedSequence(self.embedding(tokens[places.to(tokens.device)]), sizes)
        _, last = self.gru(packed)
        both = torch.cat([last[0], last[1]], dim=1)
        return both[torch.argsort(order).to(both.device)]


@torch.compiler.disable  # type: ignore[untyped-decorator] # index arithmetic on the CPU: nothing to gain
def packing(lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Order of a packed sequence: the first tokens of all texts, then the second ones, …, longest texts first.

    Returns the index of each token in the concatenation, the number of texts with a t-th token, and the texts' order.
    """
    order = torch.argsort(lengths, descending=True, stable=True)
    sizes = lengths.new_zeros(int(lengths.max()) + 1).index_add_(0, lengths, torch.ones_like(lengths))
    sizes = (len(lengths) - sizes.cumsum(0))[:-1]
    starts = torch.cumsum(lengths, 0) - lengths
    step = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
    rank = torch.arange(len(step)) - torch.repeat_interleave(torch.cumsum(sizes, 0) - sizes, sizes)
    return starts[order][rank] + step, sizes, order

# SPDX-License-Identifier: Apache-2.0
"""REAM#'s network (Gao et al., 2021): how reliable a set of references is, from one vector per query and reference.

v_1 … v_n = GAT(x_1 … x_n),  f(q, R) = tanh(w · max_i v_i + b), the maximum of each dimension
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from interloq.models.token_rows import TokenRows
from interloq.reliability.graph import GraphAttention

if TYPE_CHECKING:  # importing it takes seconds, and frozen encoders are not part of the network
    from interloq.models.cross_encoder import CrossEncoder


class SetNetwork(torch.nn.Module):  # type: ignore[misc]
    """From pairs [pairs, dimensions] and sets of them [sets, width] to reliabilities [sets]."""

    def __init__(self, dimensions: int, hidden: int, *, residual: bool = False) -> None:
        super().__init__()
        self.attention = GraphAttention(dimensions, hidden, residual=residual)
        self.head = torch.nn.Linear(hidden, 1)

    def forward(self, pairs: torch.Tensor, sets: torch.Tensor) -> torch.Tensor:
        """Reliability of each set, from −1 to 1."""
        return self.read(self.attention.project(pairs), sets)

    def read(self, projected: torch.Tensor, sets: torch.Tensor) -> torch.Tensor:
        """The same from projected pairs."""
        states = self.attention.attend(projected, sets)  # those of padding repeat a pair
        # `amax` is many times as fast as `max`, but its gradient is slower
        pooled = states.max(dim=1).values if torch.is_grad_enabled() else states.amax(dim=1)
        scores: torch.Tensor = torch.tanh(self.head(pooled)).squeeze(1)
        return scores


class ReliabilityNetwork(torch.nn.Module):  # type: ignore[misc]
    """An ensemble of networks; its output is [members, sets].

    A set is a row of pair numbers, padded with numbers below 0; every set has at least one pair.
    """

    def __init__(self, dimensions: int, hidden: int, members: int = 1, *, residual: bool = False) -> None:
        super().__init__()
        self.dimensions = dimensions
        self.members = torch.nn.ModuleList(SetNetwork(dimensions, hidden, residual=residual) for _ in range(members))

    def forward(self, pairs: torch.Tensor, sets: torch.Tensor) -> torch.Tensor:
        """Reliability of each set by each member."""
        return torch.stack([member(pairs, sets) for member in self.members])

    def project(self, pairs: torch.Tensor) -> torch.Tensor:
        """What the members compute from each pair alone, side by side [pairs, members · (hidden + 2)]."""
        return torch.cat([member.attention.project(pairs) for member in self.members], dim=1)

    def read(self, projected: torch.Tensor, sets: torch.Tensor) -> torch.Tensor:
        """The same as `forward`, from projected pairs."""
        parts = projected.chunk(len(self.members), dim=1)
        return torch.stack([member.read(part, sets) for member, part in zip(self.members, parts, strict=True)])


class TunedReliabilityNetwork(torch.nn.Module):  # type: ignore[misc]
    """The network, with an encoder of pairs if that is trained too: pairs are vectors, or rows of tokens for it."""

    def __init__(self, sets: ReliabilityNetwork, encoder: CrossEncoder | None = None) -> None:
        super().__init__()
        self.sets = sets
        self.encoder: Any = encoder

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.sets.members[0].head.weight.device

    def forward(self, pairs: torch.Tensor | TokenRows, sets: torch.Tensor) -> torch.Tensor:
        """Reliability of each set by each member."""
        if isinstance(pairs, torch.Tensor):
            vectors = pairs.to(self.device, non_blocking=True).float()
        else:
            vectors = self.encoder.states(pairs)
        predictions: torch.Tensor = self.sets(vectors, sets)
        return predictions

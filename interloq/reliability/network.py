"""REAM#'s network (Gao et al., 2021): how reliable a set of references is, from one vector per query and reference.

v_1 … v_n = GAT(x_1 … x_n),  f(q, R) = tanh(w · max_i v_i + b), the maximum of each dimension
"""

from __future__ import annotations

from typing import Any

import torch

from interloq.models.cross_encoder import CrossEncoder
from interloq.models.token_rows import Rows
from interloq.reliability.graph import GraphAttention


class ReliabilityNetwork(torch.nn.Module):  # type: ignore[misc]
    """An ensemble of networks from pairs [pairs, dimensions] and sets of them to reliabilities [members, sets].

    A set is a row of pair numbers, padded with numbers below 0; every set has at least one pair.
    """

    def __init__(self, dimensions: int, hidden: int, members: int = 1) -> None:
        super().__init__()
        self.attention = GraphAttention(dimensions, hidden, members)
        bound = hidden**-0.5  # as torch starts a linear layer
        self.weight = torch.nn.Parameter(torch.empty(members, hidden).uniform_(-bound, bound))
        self.bias = torch.nn.Parameter(torch.zeros(members))

    def forward(self, pairs: torch.Tensor, sets: torch.Tensor) -> torch.Tensor:
        """Reliability of each set by each member, from −1 to 1."""
        states = self.attention(pairs, sets)
        pooled = states.masked_fill((sets < 0).unsqueeze(-1), -torch.inf).max(dim=2).values  # amax learns more slowly
        scores: torch.Tensor = torch.tanh((pooled @ self.weight.unsqueeze(-1)).squeeze(-1) + self.bias[:, None])
        return scores


class PairNetwork(torch.nn.Module):  # type: ignore[misc]
    """The network, with an encoder of pairs if that is trained too: pairs are vectors, or rows of tokens for it."""

    def __init__(self, sets: ReliabilityNetwork, encoder: CrossEncoder | None = None) -> None:
        super().__init__()
        self.sets = sets
        self.encoder: Any = encoder

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.sets.bias.device

    def forward(self, pairs: torch.Tensor | Rows, sets: torch.Tensor) -> torch.Tensor:
        """Reliability of each set by each member."""
        if isinstance(pairs, torch.Tensor):
            vectors = pairs.to(self.device, non_blocking=True).float()
        else:
            vectors = self.encoder.states(pairs)
        found: torch.Tensor = self.sets(vectors, sets)
        return found

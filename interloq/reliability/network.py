# SPDX-License-Identifier: Apache-2.0
"""REAM#'s network (Gao et al., 2021): how reliable a set of references is, from one vector per query and reference.

v_1 … v_n = GAT(x_1 … x_n),  f(q, R) = tanh(w · max_i v_i + b), the maximum of each dimension

GAT is one-head graph attention (Veličković et al., 2018) over a complete graph with self-loops:

h = W x,  e_ij = LeakyReLU(t · h_i + s · h_j),  α_i = softmax over j of e_ij,  y_i = Σ_j α_ij h_j + b

as in `GATConv` of PyTorch Geometric with its defaults. Many graphs share nodes, so each node is multiplied by W once,
and a graph is a row of node numbers. Every node attends to all nodes, and the order of its weights α_ij is the same for
all i. All states of a graph are therefore weighted means of the same vectors, and very similar: they reveal little
about how many nodes there are or how much the nodes differ. With `residual`, the node's own state is added: y_i + h_i.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from interloq.models.token_rows import TokenRows

if TYPE_CHECKING:  # importing it takes seconds, and frozen encoders are not part of the network
    from interloq.models.cross_encoder import CrossEncoder

SLOPE = 0.2  # of LeakyReLU below 0


class GraphAttention(torch.nn.Module):  # type: ignore[misc]
    """From nodes [nodes, dimensions] and graphs [graphs, width] to states [graphs, width, hidden].

    A graph is a row of node numbers, padded with numbers below 0.
    """

    def __init__(self, dimensions: int, hidden: int, *, residual: bool = False) -> None:
        super().__init__()
        self.residual = residual
        self.weight = torch.nn.Parameter(_glorot(dimensions, hidden))
        self.source = torch.nn.Parameter(_glorot(1, hidden)[0])
        self.target = torch.nn.Parameter(_glorot(1, hidden)[0])
        self.bias = torch.nn.Parameter(torch.zeros(hidden))

    def forward(self, nodes: torch.Tensor, graphs: torch.Tensor) -> torch.Tensor:
        """Return the states of the nodes of each graph; padding repeats one of its nodes."""
        return self.attend(self.project(nodes), graphs)

    def project(self, nodes: torch.Tensor) -> torch.Tensor:
        """Return what is computed from each node alone, side by side [nodes, hidden + 2]: h, s · h and t · h."""
        states = nodes @ self.weight
        return torch.cat([states, states @ torch.stack([self.source, self.target], dim=1)], dim=1)

    def attend(self, projected: torch.Tensor, graphs: torch.Tensor) -> torch.Tensor:
        """Return what `forward` returns, from projected nodes."""
        which = torch.where(graphs < 0, graphs.amax(dim=1, keepdim=True), graphs)
        chosen = projected.index_select(0, which.flatten()).unflatten(0, which.shape)  # faster than projected[which]
        own, source, target = chosen.split([chosen.shape[2] - 2, 1, 1], dim=2)
        scores = torch.nn.functional.leaky_relu(source + target.transpose(1, 2), SLOPE)
        # [graphs, j, i]: the softmax over rows of a few numbers is slower
        weights = scores.masked_fill((graphs < 0).unsqueeze(2), -torch.inf).softmax(dim=1)
        mixed = torch.baddbmm(self.bias, weights.transpose(1, 2), own)
        return mixed + own if self.residual else mixed


def _glorot(rows: int, columns: int) -> torch.Tensor:
    bound: float = (6 / (rows + columns)) ** 0.5
    return torch.empty(rows, columns).uniform_(-bound, bound)


class SetNetwork(torch.nn.Module):  # type: ignore[misc]
    """From pairs [pairs, dimensions] and sets of them [sets, width] to reliabilities [sets]."""

    def __init__(self, dimensions: int, hidden: int, *, residual: bool = False) -> None:
        super().__init__()
        self.attention = GraphAttention(dimensions, hidden, residual=residual)
        self.head = torch.nn.Linear(hidden, 1)

    def forward(self, pairs: torch.Tensor, sets: torch.Tensor) -> torch.Tensor:
        """Return the reliability of each set, from −1 to 1."""
        return self.read(self.attention.project(pairs), sets)

    def read(self, projected: torch.Tensor, sets: torch.Tensor) -> torch.Tensor:
        """Return what `forward` returns, from projected pairs."""
        states = self.attention.attend(projected, sets)  # padding repeats a pair
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
        """Return the reliability of each set according to each member."""
        return torch.stack([member(pairs, sets) for member in self.members])

    def project(self, pairs: torch.Tensor) -> torch.Tensor:
        """Return what the members compute from each pair alone, side by side [pairs, members · (hidden + 2)]."""
        return torch.cat([member.attention.project(pairs) for member in self.members], dim=1)

    def read(self, projected: torch.Tensor, sets: torch.Tensor) -> torch.Tensor:
        """Return what `forward` returns, from projected pairs."""
        parts = projected.chunk(len(self.members), dim=1)
        return torch.stack([member.read(part, sets) for member, part in zip(self.members, parts, strict=True)])


class TunedReliabilityNetwork(torch.nn.Module):  # type: ignore[misc]
    """The network, with an encoder of pairs if it is trained too: pairs are vectors, or token rows for the encoder."""

    def __init__(self, sets: ReliabilityNetwork, encoder: CrossEncoder | None = None) -> None:
        super().__init__()
        self.sets = sets
        self.encoder: Any = encoder

    @property
    def device(self) -> torch.device:
        """Return where the weights are."""
        return self.sets.members[0].head.weight.device

    def forward(self, pairs: torch.Tensor | TokenRows, sets: torch.Tensor) -> torch.Tensor:
        """Return the reliability of each set according to each member."""
        if isinstance(pairs, torch.Tensor):
            vectors = pairs.to(self.device, non_blocking=True).float()
        else:
            vectors = self.encoder.states(pairs)
        predictions: torch.Tensor = self.sets(vectors, sets)
        return predictions

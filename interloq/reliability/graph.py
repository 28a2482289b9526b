# SPDX-License-Identifier: Apache-2.0
"""One-head graph attention (Veličković et al., 2018) over complete graphs with self-loops.

h = W x,  e_ij = LeakyReLU(t · h_i + s · h_j),  α_i = softmax over j of e_ij,  y_i = Σ_j α_ij h_j + b

The same as `GATConv` of PyTorch Geometric with its defaults. Many graphs share nodes, so each node is multiplied by W
once, and a graph is a row of node numbers.

Every node attends to all nodes, and the order of its weights α_ij is the same for all i. All states of a graph are
therefore weighted means of the same vectors, and much alike: they say little about how many nodes there are or how much
these differ. With `residual`, the node's own state is added: y_i + h_i.
"""

from __future__ import annotations

import torch

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
        """States of the nodes of each graph; those of padding repeat one of its nodes."""
        return self.attend(self.project(nodes), graphs)

    def project(self, nodes: torch.Tensor) -> torch.Tensor:
        """What is computed from each node alone, side by side [nodes, hidden + 2]: h, s · h and t · h."""
        states = nodes @ self.weight
        return torch.cat([states, states @ torch.stack([self.source, self.target], dim=1)], dim=1)

    def attend(self, projected: torch.Tensor, graphs: torch.Tensor) -> torch.Tensor:
        """The same as `forward`, from projected nodes."""
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

"""One-head graph attention (Veličković et al., 2018) over complete graphs with self-loops.

h = W x,  e_ij = LeakyReLU(t · h_i + s · h_j),  α_i = softmax over j of e_ij,  y_i = Σ_j α_ij h_j + b

The same as `GATConv` of PyTorch Geometric with its defaults, for several networks at once. Many graphs share nodes, so
each node is multiplied by W once, and a graph is a row of node numbers.
"""

from __future__ import annotations

import torch

SLOPE = 0.2  # of LeakyReLU below 0


class GraphAttention(torch.nn.Module):  # type: ignore[misc]
    """From nodes [nodes, dimensions] and graphs [graphs, width] to [members, graphs, width, hidden].

    A graph is a row of node numbers, padded with numbers below 0. Members are networks with the same input.
    """

    def __init__(self, dimensions: int, hidden: int, members: int = 1) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(_glorot(members, dimensions, hidden))
        self.source = torch.nn.Parameter(_glorot(members, 1, hidden).squeeze(1))
        self.target = torch.nn.Parameter(_glorot(members, 1, hidden).squeeze(1))
        self.bias = torch.nn.Parameter(torch.zeros(members, hidden))

    def forward(self, nodes: torch.Tensor, graphs: torch.Tensor) -> torch.Tensor:
        """States of the nodes of each graph; those of padding have no meaning."""
        states = nodes @ self.weight  # [members, nodes, hidden]
        source, target = ((states @ part.unsqueeze(-1)).squeeze(-1) for part in (self.source, self.target))
        which = graphs.clamp(min=0)
        scores = target[:, which].unsqueeze(-1) + source[:, which].unsqueeze(-2)  # [members, graphs, i, j]
        scores = torch.nn.functional.leaky_relu(scores, SLOPE)
        weights = scores.masked_fill((graphs < 0).unsqueeze(1), -torch.inf).softmax(dim=-1)
        mixed: torch.Tensor = weights @ states[:, which] + self.bias[:, None, None]
        return mixed


def _glorot(members: int, rows: int, columns: int) -> torch.Tensor:
    bound: float = (6 / (rows + columns)) ** 0.5
    return torch.empty(members, rows, columns).uniform_(-bound, bound)

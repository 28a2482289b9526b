"""The network over sets of pairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from interloq.reliability.network import GraphAttention, ReliabilityNetwork

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "gatconv.json").read_text())


def attention(case: dict[str, Any]) -> GraphAttention:
    """A layer with the weights of a case."""
    made = GraphAttention(len(case["x"][0]), len(case["bias"]))
    made.weight.data = torch.tensor(case["weight"]).T
    for name in ("source", "target", "bias"):
        getattr(made, name).data = torch.tensor(case[name])
    return made


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: f"{len(case['x'])} nodes")
def test_it_equals_gatconv_of_pytorch_geometric(case: dict[str, Any]) -> None:
    found = attention(case)(torch.tensor(case["x"]), torch.arange(len(case["x"]))[None])
    torch.testing.assert_close(found[0], torch.tensor(case["y"]), atol=1e-5, rtol=0)


def test_graphs_share_nodes_and_padding_has_no_effect() -> None:
    torch.manual_seed(0)
    layer, x = GraphAttention(5, 3), torch.randn(6, 5)
    graphs = torch.tensor([[0, 3, 5, -1, -1], [2, -1, -1, -1, -1], [1, 2, 3, 4, 5]])
    found = layer(x, graphs)
    for i, graph in enumerate(graphs):
        own = graph[graph >= 0]
        alone = layer(x[own], torch.arange(len(own))[None])
        torch.testing.assert_close(found[i, : len(own)], alone[0], atol=1e-6, rtol=0)
        for repeated in found[i, len(own) :]:
            assert (repeated == found[i, : len(own)]).all(dim=1).any()


def test_residual_adds_the_state_of_the_node_itself() -> None:
    torch.manual_seed(2)
    layer, x = GraphAttention(5, 3), torch.randn(4, 5)
    graphs = torch.tensor([[2, 0, 3, -1]])
    mixed = layer(x, graphs)
    layer.residual = True
    torch.testing.assert_close(layer(x, graphs)[0, :3], mixed[0, :3] + x[[2, 0, 3]] @ layer.weight)


def network(members: int = 2) -> tuple[ReliabilityNetwork, torch.Tensor]:
    torch.manual_seed(3)
    return ReliabilityNetwork(8, 5, members), torch.randn(7, 8)


def test_scores_are_those_of_the_formula() -> None:
    made, pairs = network()
    found = made(pairs, torch.tensor([[4, 1, 2]]))
    for member, scores in zip(made.members, found, strict=True):
        pooled = member.attention(pairs[[4, 1, 2]], torch.arange(3)[None])[0].max(dim=0).values
        torch.testing.assert_close(scores[0], torch.tanh(member.head.weight[0] @ pooled + member.head.bias[0]))


def test_order_and_padding_do_not_matter() -> None:
    made, pairs = network()
    sets = torch.tensor([[0, 3, 5, -1], [5, 0, 3, -1], [-1, 3, 0, 5]])
    found = made(pairs, sets)
    torch.testing.assert_close(found, found[:, :1].expand(2, 3), atol=1e-6, rtol=0)
    torch.testing.assert_close(made(pairs, torch.tensor([[0, 3, 5]]))[:, 0], found[:, 0], atol=1e-6, rtol=0)


def test_sets_and_members_differ_and_scores_stay_in_range() -> None:
    made, pairs = network()
    found = made(100 * pairs, torch.tensor([[0, -1], [1, 2]]))
    assert (found.abs() <= 1).all()
    assert (made(pairs, torch.tensor([[0, -1], [1, 2]])).diff(dim=1) != 0).all()
    made, pairs = network()
    scores = made(pairs, torch.tensor([[0, 1]]))
    assert scores[0] != scores[1]


def test_one_pair_is_enough_and_gradients_are_finite() -> None:
    made, pairs = network()
    made(pairs, torch.tensor([[6, -1, -1]])).sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in made.parameters())


def test_predictions_are_the_same_without_gradients_and_from_projected_pairs() -> None:
    made, pairs = network()
    sets = torch.tensor([[0, 3, 5], [6, -1, -1], [1, -1, 2]])
    learning = made(pairs, sets)
    with torch.inference_mode():
        torch.testing.assert_close(made(pairs, sets), learning.detach(), atol=0, rtol=0)
        torch.testing.assert_close(made.read(made.project(pairs), sets), learning.detach(), atol=1e-6, rtol=0)

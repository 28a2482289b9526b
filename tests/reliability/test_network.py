"""The network over sets of pairs."""

from __future__ import annotations

import torch

from interloq.reliability.network import ReliabilityNetwork


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


def test_sets_differ_and_stay_in_range() -> None:
    made, pairs = network()
    found = made(100 * pairs, torch.tensor([[0, -1], [1, 2]]))
    assert (found.abs() <= 1).all()
    assert (made(pairs, torch.tensor([[0, -1], [1, 2]])).diff(dim=1) != 0).all()


def test_members_start_with_different_weights() -> None:
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

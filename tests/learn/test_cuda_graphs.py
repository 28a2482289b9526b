"""Graphs of equal batches: recorded on second sight, replayed with new tensors, given up when recording fails.

CUDA is replaced by a graph that keeps nothing of what it records and computes the loss when it is replayed;
`benchmarks/training_checks.py` checks real ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch

from interloq.learn.cuda_graphs import Learner, mapped
from interloq.models.token_rows import Packed, TokenRows

CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class Batch:
    rows: TokenRows | Packed
    right: torch.Tensor
    name: str = "a"


class Line:
    """Learns the sum of token numbers."""

    def __init__(self) -> None:
        self.weight = torch.nn.Parameter(torch.tensor(0.5))
        self.weight.grad = torch.zeros(())

    def loss(self, batch: Batch) -> torch.Tensor:
        return (self.weight * batch.rows.ids.float().sum() - batch.right).square().sum()


def batch(length: int, right: float = 1.0, name: str = "a") -> Batch:
    inside = torch.ones(2, length, dtype=torch.int32)
    ids = torch.arange(2 * length, dtype=torch.int32).view(2, length)
    return Batch(TokenRows(ids, inside, inside).packed(), torch.tensor([right]), name)


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """CUDA's graphs; `line` and `learner` are filled in by the test, `error` is raised at the end of a recording."""
    state: dict[str, Any] = {"replays": 0, "error": None}

    class Graph:
        def capture_begin(self, **_: Any) -> None:
            self.before = state["line"].weight.grad.clone()

        def capture_end(self) -> None:
            state["line"].weight.grad.copy_(self.before)
            if state["error"]:
                raise state["error"]

        def replay(self) -> None:
            state["replays"] += 1
            own = next(found for found in state["learner"]._recorded.values() if found.graph is self)
            own.loss.copy_(state["learner"]._backward(own.batch, own.examples))

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    for name in ("synchronize", "empty_cache", "graph_pool_handle"):
        monkeypatch.setattr(torch.cuda, name, lambda *_: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (0, 0))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: 1)
    return state


def learned(batches: list[Batch], state: dict[str, Any], *, graphs: bool) -> tuple[list[float], float, list[str]]:
    """Losses, the gradient of all, and what was reported."""
    reported: list[str] = []
    state["line"] = line = Line()
    state["learner"] = learner = Learner(line.loss, CPU, reported.append, graphs=graphs)
    losses = [float(learner.learn(given, examples)) for examples, given in enumerate(batches, 2)]
    return losses, float(line.weight.grad), reported


BATCHES = [batch(3, 1.0), batch(90, 2.0), batch(3, 3.0), batch(3, 4.0), batch(90, 5.0), batch(3, 6.0, "b")]


def test_graphs_learn_the_same(replaced: dict[str, Any]) -> None:
    expected = learned(BATCHES, replaced, graphs=False)
    assert replaced["replays"] == 0
    found = learned(BATCHES, replaced, graphs=True)
    assert found == expected
    assert replaced["replays"] == 3, "the first batch of a shape, or with another value, is computed without"


def test_padded_rows_are_not_recorded(replaced: dict[str, Any]) -> None:
    inside = torch.ones(2, 3, dtype=torch.int32)
    learned([Batch(TokenRows(inside, inside, inside), torch.ones(1))] * 4, replaced, graphs=True)
    assert replaced["replays"] == 0


def test_a_recording_that_fails_is_reported_and_the_batch_learned(replaced: dict[str, Any]) -> None:
    expected = learned(BATCHES, replaced, graphs=False)
    replaced["error"] = RuntimeError("operation not permitted\nmore lines")
    losses, gradient, reported = learned(BATCHES, replaced, graphs=True)
    assert (losses, gradient) == expected[:2]
    assert reported == ["continuing without CUDA graphs: operation not permitted"]
    assert replaced["replays"] == 0


def test_all_tensors_of_a_batch_are_changed() -> None:
    given = batch(2)
    found = mapped(given, lambda tensor: tensor + 1)
    assert found.rows.ids.tolist() == (given.rows.ids + 1).tolist()
    assert found.right.tolist() == [2.0]
    assert (found.name, found.rows.rows) == ("a", 2)
    assert mapped([1], lambda tensor: tensor + 1) == [1]

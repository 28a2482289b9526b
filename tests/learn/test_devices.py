"""What the loop sets up for a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
import transformers
from threadpoolctl import threadpool_info

from interloq.learn.devices import (
    Learner,
    compile_layers,
    fix_threads,
    map_tensors,
    pack_rows,
    use_own_stream,
    uses_mixed_precision,
)
from interloq.learn.settings import Training
from interloq.models.cross_encoder import CrossEncoder
from interloq.models.token_rows import Packed, TokenRows

CPU, GPU = torch.device("cpu"), torch.device("cuda")
SIZES = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 16}


def network() -> CrossEncoder:
    return CrossEncoder(transformers.BertModel(transformers.BertConfig(vocab_size=50, **SIZES)), 1)


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_equal_layers_are_compiled_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self: compiled.append(type(self).__name__))
    compile_layers(network())
    assert compiled == ["BertLayer"] * 3
    compile_layers(torch.nn.Sequential(torch.nn.Linear(2, 2)))
    assert compiled[3:] == ["Sequential"], "a network without such layers is compiled whole"


def test_precision_depends_on_the_device_unless_it_is_named() -> None:
    assert [uses_mixed_precision(Training(amp="auto"), device) for device in (CPU, GPU)] == [False, True]
    assert [uses_mixed_precision(Training(amp="bf16"), device) for device in (CPU, GPU)] == [True, True]
    assert [uses_mixed_precision(Training(amp="off"), device) for device in (CPU, GPU)] == [False, False]


@pytest.mark.parametrize(("amp", "device"), [("bf16", CPU), ("off", GPU)])
def test_rows_stay_padded_on_a_processor_and_in_float32(amp: str, device: torch.device) -> None:
    made, said = network(), list[str]()
    with pack_rows(made, Training(amp=amp), device, said.append) as packed, use_own_stream(CPU):  # type: ignore[arg-type]
        assert not packed
        assert not made.packing.on
    assert said == []


def test_a_network_that_is_not_packed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    made, said = network(), list[str]()
    monkeypatch.setattr(made.packing, "_why_not", lambda *_: "it has a window")
    with pack_rows(made, Training(), GPU, said.append) as packed:
        assert not packed
    assert said == ["rows are padded: it has a window"]


def test_threads_are_fixed_for_torch_and_numpy_and_given_back() -> None:
    before = torch.get_num_threads(), blas_threads()
    with fix_threads(3, CPU):
        assert torch.get_num_threads() == 3
        assert blas_threads() <= {3}
        with fix_threads(1, GPU):
            assert torch.get_num_threads() == 3, "a GPU does not use them"
            assert blas_threads() <= {1}
    assert (torch.get_num_threads(), blas_threads()) == before


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
    return Batch(TokenRows(ids, inside, inside).pack(), torch.tensor([right]), name)


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
    found = map_tensors(given, lambda tensor: tensor + 1)
    assert found.rows.ids.tolist() == (given.rows.ids + 1).tolist()
    assert found.right.tolist() == [2.0]
    assert (found.name, found.rows.rows) == ("a", 2)
    assert map_tensors([1], lambda tensor: tensor + 1) == [1]

"""Packed layers beside plain ones, and what happens where packing cannot be had."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from interloq.models.packed_linear import PackedLinear, pack


def network(*, bias: bool = True) -> torch.nn.Module:
    torch.manual_seed(0)
    parts = [torch.nn.Linear(24, 56, bias=bias), torch.nn.GELU(), torch.nn.Linear(56, 8, bias=bias)]
    return torch.nn.Sequential(*parts, torch.nn.Sequential(torch.nn.Linear(8, 8, bias=bias))).eval()


def prober(found: torch.nn.Module) -> Callable[[], torch.Tensor]:
    return lambda: found(torch.ones(2, 24))


def packed_layers(found: torch.nn.Module) -> int:
    return sum(isinstance(part, PackedLinear) for part in found.modules())


@given(st.integers(1, 9), st.integers(1, 40), st.booleans())
def test_packed_layers_give_what_plain_ones_give(rows: int, tokens: int, bias: bool) -> None:
    plain, packed = network(bias=bias), network(bias=bias)
    pack(packed, prober(packed))
    assert packed_layers(packed) == 3
    states = torch.randn(rows, tokens, 24, generator=torch.Generator().manual_seed(rows))
    with torch.inference_mode():
        assert torch.allclose(packed(states), plain(states), rtol=1e-5, atol=1e-5)


def test_plain_weights_are_not_kept() -> None:
    found = network()
    pack(found, prober(found))
    assert not [name for name, _ in found.named_parameters() if "weight" in name]


@pytest.mark.parametrize("kind", ["missing", "wrong", "failing"])
def test_without_the_operation_layers_stay_plain(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("no such kernel")

    operations = {
        "missing": SimpleNamespace(),
        "wrong": SimpleNamespace(
            _reorder_linear_weight=lambda weight, _: weight,
            _linear_pointwise=lambda rows, weight, bias, *_: rows @ weight.T + 2 * bias,
        ),
        "failing": SimpleNamespace(_reorder_linear_weight=fail, _linear_pointwise=fail),
    }
    monkeypatch.setattr(torch, "ops", SimpleNamespace(mkldnn=operations[kind]))
    found = network()
    pack(found, prober(found))
    assert packed_layers(found) == 0


def test_a_network_that_asks_for_plain_weights_keeps_them() -> None:
    class Asking(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.dense = torch.nn.Linear(24, 8)

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return self.dense(rows.to(self.dense.weight.dtype))

    found = Asking()
    expected = prober(found)()
    pack(found, prober(found))
    assert packed_layers(found) == 0
    assert torch.equal(prober(found)(), expected)


def test_kinds_of_layers_that_only_resemble_linear_ones_are_left_alone() -> None:
    class Own(torch.nn.Linear):  # type: ignore[misc]
        pass

    found = torch.nn.Sequential(Own(4, 4), torch.nn.Conv1d(4, 4, 1))
    pack(found, lambda: found(torch.ones(4, 4)))
    assert packed_layers(found) == 0

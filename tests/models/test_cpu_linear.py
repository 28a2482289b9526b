"""Linear layers by oneDNN, in float32 and with 8 bits."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn.utils import parametrize

from interloq import InputError
from interloq.models import cpu_linear
from interloq.models.cpu_linear import (
    BFloat16Linear,
    FileLinear,
    Int8Linear,
    OneDnnLinear,
    check_precision,
    release_pages,
    speed_up,
)

needs_avx = pytest.mark.skipif(
    "AVX" not in torch.backends.cpu.get_cpu_capability() or not torch.backends.mkldnn.is_available(),
    reason="the processor has no AVX",
)


def network(inputs: int = 48, outputs: int = 40) -> torch.nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return torch.nn.Sequential(
            torch.nn.Linear(inputs, 96), torch.nn.GELU(), torch.nn.Linear(96, outputs, bias=False)
        ).eval()


def states(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(2))


@needs_avx
@torch.inference_mode()  # type: ignore[untyped-decorator]
def test_in_float32_states_stay_the_same() -> None:
    fast, plain = network(), network()
    speed_up(fast)
    assert [type(fast[0]), type(fast[2])] == [OneDnnLinear, OneDnnLinear]
    for shape in ((7, 48), (3, 5, 48), (1, 48)):
        assert torch.allclose(fast(states(*shape)), plain(states(*shape)), atol=1e-5)


@torch.inference_mode()  # type: ignore[untyped-decorator]
def test_with_8_bits_products_of_rounded_numbers_are_exact() -> None:
    layer = network()[0]
    weights, inputs = layer.weight.double().numpy(), states(4, 5, 48).double().numpy()
    weight_steps = np.abs(weights).max(axis=1) / 127
    input_steps = np.abs(inputs).max(axis=-1, keepdims=True) / 127
    expected = np.rint(inputs / input_steps) @ np.rint(weights / weight_steps[:, None]).T * input_steps * weight_steps
    expected += layer.bias.double().numpy()
    outputs = Int8Linear(layer)(states(4, 5, 48)).numpy()
    assert np.abs(outputs - expected).max() < 1e-5
    assert 1e-4 < np.abs(outputs - layer(states(4, 5, 48)).numpy()).max() < 0.05


@torch.inference_mode()  # type: ignore[untyped-decorator]
def test_in_bfloat16_numbers_have_8_significant_bits() -> None:
    reduced, plain = network(), network()
    speed_up(reduced, "bfloat16")
    assert [type(reduced[0]), type(reduced[2])] == [BFloat16Linear, BFloat16Linear]
    outputs, exact = reduced(states(4, 5, 48)), plain(states(4, 5, 48))
    assert outputs.dtype == torch.float32
    assert 1e-5 < (outputs - exact).abs().max() < 2**-7


@pytest.mark.parametrize("kind", [OneDnnLinear, BFloat16Linear, Int8Linear])
@torch.inference_mode()  # type: ignore[untyped-decorator]
def test_a_row_does_not_depend_on_its_batch(kind: type[torch.nn.Module]) -> None:
    layer, rows = kind(network()[0]), states(300, 48)
    together = layer(rows)
    for first, last in ((0, 1), (5, 12), (100, 300)):
        assert torch.equal(layer(rows[first:last]), together[first:last])


@torch.inference_mode()  # type: ignore[untyped-decorator]
def test_a_row_of_zeros_gives_the_bias() -> None:
    layer = network()[0]
    assert torch.equal(Int8Linear(layer)(torch.zeros(2, 48)), layer.bias.expand(2, -1))


def test_updates_become_part_of_the_weights() -> None:
    class Double(torch.nn.Module):  # type: ignore[misc]
        def forward(self, weight: torch.Tensor) -> torch.Tensor:
            return 2 * weight

    plain, updated = network(), network()
    parametrize.register_parametrization(updated[2], "weight", Double())
    speed_up(updated, "int8")
    speed_up(plain, "int8")
    with torch.inference_mode():
        assert torch.allclose(updated(states(3, 48)), 2 * plain(states(3, 48)), atol=1e-5)


def test_other_number_types_and_layers_are_left_alone() -> None:
    made = torch.nn.Sequential(network(), torch.nn.Embedding(4, 4), torch.nn.Linear(4, 4).double())
    speed_up(made)
    assert type(made[1]) is torch.nn.Embedding
    assert type(made[2]) is torch.nn.Linear


def test_without_onednn_float32_layers_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    made = network()
    speed_up(made)
    assert type(made[0]) is torch.nn.Linear


def test_impossible_precisions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_precision("float32", torch.device("cuda"))
    with pytest.raises(InputError, match=r"'int4'.*float32 or int8"):
        check_precision("int4", torch.device("cpu"))
    with pytest.raises(InputError, match="on a GPU"):
        check_precision("int8", torch.device("cuda"))
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: False)
    with pytest.raises(InputError, match="VNNI"):
        check_precision("int8", torch.device("cpu"))


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="memory maps are read on Linux")
def test_released_pages_of_a_file_are_read_again_and_other_memory_is_kept(tmp_path: Path) -> None:
    numbers = states(512, 512)
    save_file({"a": numbers}, tmp_path / "model.safetensors")
    stored = load_file(tmp_path / "model.safetensors")["a"]
    assert torch.equal(stored, numbers)
    first = -(-stored.data_ptr() // cpu_linear.PAGE) * cpu_linear.PAGE
    assert cpu_linear._is_file(first, first + 4096)
    assert _resident(stored) > 900
    release_pages(stored)
    assert _resident(stored) < 20
    assert torch.equal(stored, numbers)
    release_pages(numbers)
    assert torch.equal(stored, numbers)


def _resident(tensor: torch.Tensor) -> int:
    """Return the resident kB of the memory map that contains a tensor."""
    inside, where = False, tensor.data_ptr() + tensor.nbytes // 2
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, *values = line.split()
        if not name.endswith(":"):
            start, end = (int(address, 16) for address in name.split("-"))
            inside = start <= where < end
        elif inside and name == "Rss:":
            return int(values[0])
    raise AssertionError("no memory map")


@pytest.mark.parametrize("has_onednn", [True, False])
@torch.no_grad()  # type: ignore[untyped-decorator]
def test_weights_may_stay_in_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_onednn: bool) -> None:
    if not has_onednn:
        monkeypatch.setattr(cpu_linear, "_has_onednn", lambda: False)
    path = tmp_path / "weights.safetensors"
    plain = network(inputs=600, outputs=50)  # the first matrix has whole pages
    save_file(plain.state_dict(), path)
    kept = network(inputs=600, outputs=50)
    kept.load_state_dict(load_file(path), assign=True)
    parametrize.register_parametrization(kept[0], "weight", Added(kept[0].weight), unsafe=True)
    expected = kept(states(5, 600))
    speed_up(kept, in_files=True)
    assert [type(kept[0]), type(kept[2])] == [FileLinear, FileLinear]
    assert (kept[0].pages[1] > 0) == (sys.platform == "linux")
    for _ in range(2):  # the pages come back
        assert torch.allclose(kept(states(5, 600)), expected, atol=1e-5)


class Added(torch.nn.Module):  # type: ignore[misc]
    """A low-rank update, as in learn/low_rank.py."""

    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.a, self.b = torch.nn.Parameter(states(3, weight.shape[1])), torch.nn.Parameter(states(weight.shape[0], 3))
        self.scale = 0.5

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return weight + self.scale * (self.b @ self.a)

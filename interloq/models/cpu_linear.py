# SPDX-License-Identifier: Apache-2.0
"""Linear layers for scoring on a CPU: in float32 by oneDNN, in bfloat16, or with weights and inputs of 8 bits.

torch multiplies float32 matrices by MKL, which on AMD's processors is less than half as fast as oneDNN, which torch
contains too. With oneDNN, the result for a row does not depend on the other rows of its batch.

With `bfloat16`, weights, inputs and outputs of the layers are rounded to 8 significant bits, which processors with
AVX512-BF16 or AMX multiply at least twice as fast. Everything between the layers stays in float32.

With `int8`, each row of a weight matrix and each token's state are divided by their largest absolute value and rounded
to whole numbers from −127 to 127. Their products are summed exactly. Weights take a quarter of the memory.

Weights may also stay in their file, mapped into memory: each use reads them from there and gives the memory back. That
is about a sixth slower.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import threading
from pathlib import Path
from typing import Literal

import torch
from torch.nn.utils import parametrize

from interloq.errors import InputError

Precision = Literal["float32", "bfloat16", "int8"]
ROWS = 64  # rows of the batches that oneDNN arranges weights for; it is as fast for other numbers
LARGEST = 127
TINY = 1e-12  # instead of a largest absolute value of 0
PAGE = mmap.PAGESIZE
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h


class OneDnnLinear(torch.nn.Module):  # type: ignore[misc]
    """A linear layer in float32; it cannot be trained, saved or moved to another device."""

    def __init__(self, layer: torch.nn.Linear) -> None:
        super().__init__()
        self.bias, self.weight = layer.bias, _keep_type(layer)
        self.arranged = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), ROWS)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return W x + b for each state x [..., inputs]."""
        outputs: torch.Tensor = torch.ops.mkldnn._linear_pointwise(states, self.arranged, self.bias, "none", [], "")
        return outputs


class Scratch(threading.local):
    """Memory that each thread uses again: large matrices of many sizes would leave gaps in its heap."""

    numbers = torch.empty(0)

    def matrix(self, shape: torch.Size) -> torch.Tensor:
        """Return a matrix whose numbers are to be written."""
        if self.numbers.numel() < shape.numel():
            with torch.inference_mode(mode=False):
                self.numbers = torch.empty(shape.numel())
        return self.numbers[: shape.numel()].view(shape)


_scratch = Scratch()


class FileLinear(torch.nn.Module):  # type: ignore[misc]
    """A linear layer in float32 whose weights stay in their file, without its update; it cannot be trained or saved."""

    def __init__(self, layer: torch.nn.Linear) -> None:
        super().__init__()
        self.bias, self.weight = layer.bias, _keep_type(layer)
        self.stored, self.update = find_stored_weights(layer), None
        if parametrize.is_parametrized(layer, "weight"):
            self.update = layer.parametrizations.weight[0]
        self.pages, self.has_onednn = _find_pages(self.stored), _has_onednn()

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return W x + b for each state x [..., inputs]."""
        weights = self.stored
        if self.update is not None:
            weights = _scratch.matrix(weights.shape)
            torch.mm(self.update.b.detach(), self.update.a.detach(), out=weights)
            weights.mul_(self.update.scale).add_(self.stored)
        if self.has_onednn:
            outputs: torch.Tensor = torch.ops.mkldnn._linear_pointwise(states, weights, self.bias, "none", [], "")
        else:
            outputs = torch.nn.functional.linear(states, weights, self.bias)
        _release(*self.pages)
        return outputs


class BFloat16Linear(torch.nn.Module):  # type: ignore[misc]
    """A linear layer with weights, inputs and outputs in bfloat16; it cannot be trained or saved."""

    def __init__(self, layer: torch.nn.Linear) -> None:
        super().__init__()
        self.weight = _keep_type(layer)
        self.rounded, self.bias = layer.weight.detach().bfloat16(), None
        if layer.bias is not None:
            self.bias = layer.bias.detach().bfloat16()

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return W x + b for each state x [..., inputs]."""
        outputs: torch.Tensor = torch.nn.functional.linear(states.bfloat16(), self.rounded, self.bias).float()
        return outputs


class Int8Linear(torch.nn.Module):  # type: ignore[misc]
    """A linear layer with weights and inputs of 8 bits; it cannot be trained or saved."""

    def __init__(self, layer: torch.nn.Linear) -> None:
        super().__init__()
        self.bias, self.weight = layer.bias, _keep_type(layer)
        self.rounded, steps = _round(layer.weight.detach())
        self.steps = steps.squeeze(1)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return W x + b for each state x [..., inputs]."""
        rounded, steps = _round(states.reshape(-1, states.shape[-1]))
        outputs: torch.Tensor = torch._int_mm(rounded, self.rounded.t()).float()
        outputs.mul_(steps).mul_(self.steps)
        if self.bias is not None:
            outputs.add_(self.bias)
        return outputs.view(*states.shape[:-1], -1)


def _keep_type(layer: torch.nn.Linear) -> torch.Tensor:
    """Return weights without rows: networks such as T5 read the number type of their layers' weights."""
    return torch.empty(0, layer.in_features)


def _round(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows of whole numbers, and the number that each row must be multiplied by [rows, 1]."""
    steps = rows.abs().amax(dim=1, keepdim=True).clamp_min(TINY) / LARGEST
    return (rows / steps).round_().to(torch.int8), steps


def speed_up(network: torch.nn.Module, precision: Precision = "float32", *, in_files: bool = False) -> None:
    """Replace the linear layers of a network that only scores, one by one, so that few weights are held twice.

    A layer's update, if it has one (see learn/low_rank.py), becomes part of the new layer's weights. With `in_files`,
    float32 weights stay in their files.
    In float32, a network that is on a GPU or in another number type stays as it is, and so does any if this torch or
    processor lacks what is needed.
    """
    layer_type: type[OneDnnLinear | FileLinear | BFloat16Linear | Int8Linear] = OneDnnLinear
    if precision == "int8":
        layer_type = Int8Linear
    elif precision == "bfloat16":
        layer_type = BFloat16Linear
    elif in_files:
        layer_type = FileLinear
    elif not _has_onednn():
        return
    keep_freed_memory()
    names = [name for name, module in network.named_modules() if isinstance(module, torch.nn.Linear)]
    for name in names:
        layer = network.get_submodule(name)
        stored = find_stored_weights(layer)
        if stored.dtype == torch.float32 and stored.device.type == "cpu":
            network.set_submodule(name, layer_type(layer))
            release_pages(stored)
            del layer, stored
            _trim_heap()


def _has_onednn() -> bool:
    """Return whether torch has oneDNN's linear layers, which it does not promise to keep, and AVX to compute them."""
    if not (torch.backends.mkldnn.is_available() and "AVX" in torch.backends.cpu.get_cpu_capability()):
        return False
    return all(hasattr(torch.ops.mkldnn, name) for name in ("_linear_pointwise", "_reorder_linear_weight"))


def find_stored_weights(layer: torch.nn.Module) -> torch.Tensor:
    """Return the weights of a layer; if it has an update that is not merged, its weights without the update."""
    if parametrize.is_parametrized(layer, "weight"):
        return layer.parametrizations.weight.original.detach()
    return layer.weight.detach()


def check_precision(precision: str, device: torch.device) -> None:
    """Refuse an unknown precision, and int8 on a machine that would be slower or less exact with it."""
    if precision not in ("float32", "int8"):
        raise InputError(f"unknown precision {precision!r}", hint="precision is float32 or int8")
    if precision == "int8" and device.type != "cpu":
        raise InputError("precision int8 is for a CPU, and this network is on a GPU", hint="use float32")
    if precision == "int8" and not torch.cpu._is_vnni_supported():
        raise InputError("this processor has no instructions for 8-bit numbers (VNNI)", hint="use float32")


def release_pages(weights: torch.Tensor) -> None:
    """Give back the memory of weights that are not needed any more but belong to a file in memory that is.

    safetensors maps a file into memory as a whole, and the embeddings keep it there.
    """
    _release(*_find_pages(weights))


def _find_pages(weights: torch.Tensor) -> tuple[int, int]:
    """Return the address and the size of the whole pages of weights that belong to a file in memory; else 0 and 0."""
    first, last = -(-weights.data_ptr() // PAGE) * PAGE, (weights.data_ptr() + weights.nbytes) // PAGE * PAGE
    if sys.platform == "linux" and first < last and _is_file(first, last):
        return first, last - first
    return 0, 0


def _release(first: int, size: int) -> None:
    if size:
        madvise = ctypes.CDLL(None).madvise
        madvise(ctypes.c_void_p(first), ctypes.c_size_t(size), ctypes.c_int(mmap.MADV_DONTNEED))


def _trim_heap() -> None:
    """Give back free memory between allocated blocks, which glibc keeps: new layers are smaller than the old ones."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(ctypes.c_size_t(0))


def keep_freed_memory() -> None:
    """Let the heap keep up to 64 MB of freed memory for the next layer's states.

    Otherwise glibc gives it back and asks for it again in each layer, which takes up to a fifth of the time. Both
    thresholds are those that glibc sets itself once a block of 32 MB was freed.
    """
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        mallopt(ctypes.c_int(M_MMAP_THRESHOLD), ctypes.c_int(2**25))
        mallopt(ctypes.c_int(M_TRIM_THRESHOLD), ctypes.c_int(2**26))


def _is_file(first: int, last: int) -> bool:
    """Return whether these addresses belong to a safetensors file: other memory would be lost."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, *_, name = line.split(maxsplit=5)
        start, _, end = addresses.partition("-")
        if int(start, 16) <= first and last <= int(end, 16):
            return name.endswith(".safetensors")
    return False

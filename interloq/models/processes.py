"""One process or several that train one network together, as `torchrun` starts them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import torch
import torch.distributed
from numpy.typing import NDArray

from interloq.errors import InputError

PATIENCE = timedelta(days=2)  # that the others wait while the first reads a log


@dataclass(frozen=True)
class Processes:
    """This process among those that train together."""

    device: torch.device
    rank: int = 0
    count: int = 1

    @classmethod
    @contextmanager
    def joined(cls, device: str = "auto") -> Iterator[Processes]:
        """The group that `torchrun` made, or this process alone; within another `joined` the same group."""
        count = int(os.environ.get("WORLD_SIZE", "1"))
        found = pick_device(device)
        if count == 1:
            yield cls(found)
            return
        if found.type == "cuda":
            found = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        outer = torch.distributed.is_initialized()
        if not outer:
            backend = "nccl" if found.type == "cuda" else "gloo"
            torch.distributed.init_process_group(backend, timeout=PATIENCE)
        try:
            yield cls(found, torch.distributed.get_rank(), count)
        finally:
            if not outer:
                torch.distributed.destroy_process_group()

    @property
    def first(self) -> bool:
        """Whether this is the one that speaks and writes."""
        return self.rank == 0

    @property
    def said(self) -> str:
        """The device and number of processes, for people."""
        name = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else self.device.type
        return name if self.count == 1 else f"{self.count} × {name}"

    def share(self, examples: NDArray[np.int64]) -> NDArray[np.int64]:
        """The examples of this process."""
        return examples[self.rank :: self.count]

    def sum(self, value: float) -> float:
        """The sum over all processes."""
        if self.count == 1:
            return value
        total = torch.tensor(value, dtype=torch.float64, device=self.device)
        torch.distributed.all_reduce(total)
        return float(total)

    def wait(self) -> None:
        """Until every process is here."""
        self.sum(0.0)

    def add_gradients(self, network: torch.nn.Module, loss: torch.Tensor) -> torch.Tensor:
        """Every process gets the sum of all gradients, and of all losses, in one message."""
        if self.count == 1:
            return loss
        parameters = [p for p in network.parameters() if p.requires_grad]
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        flat = torch.cat([loss.view(1), *(gradient.flatten() for gradient in gradients)])
        torch.distributed.all_reduce(flat)
        for parameter, part in zip(parameters, flat[1:].split([p.numel() for p in parameters]), strict=True):
            parameter.grad = part.view_as(parameter)
        return flat[0]


def pick_device(name: str) -> torch.device:
    """The device that is meant; `auto` is a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("torch finds no CUDA device", hint="run with --device cpu")
    if name not in ("cpu", "cuda"):
        raise InputError(f"unknown device {name!r}", hint="device is auto, cpu or cuda")
    return torch.device(name)

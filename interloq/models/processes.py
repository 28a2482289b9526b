# SPDX-License-Identifier: Apache-2.0
"""One or more processes that train one network together, as started by `torchrun`."""

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

TIMEOUT = timedelta(days=2)  # the others wait this long while the first process reads a log


@dataclass(frozen=True)
class Processes:
    """This process among the processes that train together."""

    device: torch.device
    rank: int = 0
    count: int = 1

    @classmethod
    @contextmanager
    def join(cls, device: str = "auto") -> Iterator[Processes]:
        """Join the group that `torchrun` made, or run alone; a nested `join` uses the same group."""
        count = int(os.environ.get("WORLD_SIZE", "1"))
        own_device, backend = pick_device(device), "gloo"
        if count == 1:
            yield cls(own_device)
            return
        if own_device.type == "cuda":
            own_device, backend = torch.device("cuda", int(os.environ["LOCAL_RANK"])), "nccl"
        outer = torch.distributed.is_initialized()
        if not outer:
            torch.distributed.init_process_group(backend, timeout=TIMEOUT)
        try:
            yield cls(own_device, torch.distributed.get_rank(), count)
        finally:
            if not outer:
                torch.distributed.destroy_process_group()

    @property
    def first(self) -> bool:
        """Whether this is the process that prints and writes files."""
        return self.rank == 0

    @property
    def description(self) -> str:
        """Device and number of processes, for display."""
        name: str = self.device.type
        if name == "cuda":
            name = torch.cuda.get_device_name(self.device)
        if self.count == 1:
            return name
        return f"{self.count} × {name}"

    def share(self, examples: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return this process's share of the examples."""
        return examples[self.rank :: self.count]

    def sum(self, value: float) -> float:
        """Return the sum over all processes."""
        if self.count == 1:
            return value
        total = torch.tensor(value, dtype=torch.float64, device=self.device)
        torch.distributed.all_reduce(total)
        return float(total)

    def wait(self) -> None:
        """Wait until every process gets here."""
        self.sum(0.0)

    def add_gradients(self, network: torch.nn.Module, loss: torch.Tensor) -> torch.Tensor:
        """Sum gradients and losses over all processes, in one message."""
        if self.count == 1:
            return loss
        parameters, values = [], [loss.view(1)]
        for parameter in network.parameters():
            if parameter.requires_grad:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                parameters.append(parameter)
                values.append(parameter.grad.flatten())
        flat = torch.cat(values)
        torch.distributed.all_reduce(flat)
        sizes = list(map(torch.numel, parameters))
        for parameter, part in zip(parameters, flat[1:].split(sizes), strict=True):
            parameter.grad.copy_(part.view_as(parameter))  # in place: CUDA graphs write there
        return flat[0]


def pick_device(name: str) -> torch.device:
    """Return the device for a name; `auto` is a GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("torch finds no CUDA device", hint="use device cpu")
    if name not in ("cpu", "cuda"):
        raise InputError(f"unknown device {name!r}", hint="device is auto, cpu or cuda")
    return torch.device(name)

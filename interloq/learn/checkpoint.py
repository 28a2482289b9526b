# SPDX-License-Identifier: Apache-2.0
"""Everything a training loop needs to resume exactly where it stopped: weights, optimizer, random state, counters.

A new checkpoint replaces the previous one only when it is complete, so a full disk or a kill loses only the work done
since then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import torch

from interloq.data.files.durable import atomic_folder, remove
from interloq.data.files.folders import inside
from interloq.data.files.opening import read_json, reading_saved, write_json
from interloq.errors import InputError
from interloq.learn.store import read_tensors, write_tensors

NAME, TENSORS, STATE = "checkpoint", "tensors.safetensors", "state.json"


@dataclass
class State:
    """Training progress: `epoch` counts finished epochs; `batches`, `loss` and `seconds` refer to the current one."""

    epoch: int = 0
    batches: int = 0
    loss: float = 0.0
    seconds: float = 0.0
    stale: int = 0
    best_loss: float = math.inf
    curve: list[dict[str, Any]] = field(default_factory=list)
    best: dict[str, torch.Tensor] = field(default_factory=dict)


class Checkpoint:
    """Checkpoints of one job in its folder."""

    def __init__(self, folder: Path, job: str) -> None:
        self.folder, self.job = folder, job

    def found(self) -> Path | None:
        """Return the state file of the newest complete checkpoint; None if there is none."""
        return max(self.folder.glob(f"{NAME}-*[0-9]/{STATE}"), default=None)

    def save(self, state: State, network: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Write a checkpoint, then remove the previous one."""
        before = self.found()
        number = int(before.parent.name.split("-")[-1]) + 1 if before else 0
        target = self.folder / f"{NAME}-{number:06}"
        counters = {item.name: getattr(state, item.name) for item in fields(State) if item.name != "best"}
        counters["best_loss"] = state.best_loss if math.isfinite(state.best_loss) else None
        with atomic_folder(target) as part:
            write_tensors(part / TENSORS, dict(_name_tensors(state, network, optimizer)))
            write_json(part / STATE, {"job": self.job, **counters})
        for other in self.folder.glob(f"{NAME}-*"):
            if other != target:
                remove(other)

    def load(self, network: torch.nn.Module, optimizer: torch.optim.Optimizer, device: torch.device) -> State:
        """Load the newest checkpoint into network and optimizer; return the training progress."""
        path = self.found()
        assert path is not None, "call found() first"  # noqa: S101
        path = inside(self.folder, path.parent.name, STATE)
        counters = read_json(path)
        if counters.pop("job", None) != self.job:
            raise InputError(
                "the folder contains a training run with other data or other settings",
                hint="use the same data and settings to resume it, or choose another folder",
                where=str(self.folder),
            )
        tensors = read_tensors(inside(self.folder, path.parent.name, TENSORS))
        with reading_saved(path.parent, hint="remove the checkpoint to start over"):
            network.load_state_dict(_under(tensors, "network"))
            optimizer_state: dict[int, dict[str, torch.Tensor]] = {}
            for key, tensor in _under(tensors, "optimizer").items():
                i, _, name = key.partition(".")
                optimizer_state.setdefault(int(i), {})[name] = tensor
            groups = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict({"state": optimizer_state, "param_groups": groups})
            torch.set_rng_state(tensors["random.cpu"])
            if device.type == "cuda" and "random.cuda" in tensors:
                torch.cuda.set_rng_state(tensors["random.cuda"], device)
            if counters["best_loss"] is None:
                counters["best_loss"] = math.inf
            return State(**counters, best=_under(tensors, "best"))


def _name_tensors(
    state: State, network: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> Iterator[tuple[str, torch.Tensor]]:
    yield from ((f"network.{name}", tensor) for name, tensor in network.state_dict().items())
    yield from ((f"best.{name}", tensor) for name, tensor in state.best.items())
    for i, values in optimizer.state_dict()["state"].items():
        yield from ((f"optimizer.{i}.{name}", torch.as_tensor(value)) for name, value in values.items())
    yield "random.cpu", torch.get_rng_state()
    if torch.cuda.is_available():
        yield "random.cuda", torch.cuda.get_rng_state()


def _under(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(f"{prefix}."): t for name, t in tensors.items() if name.startswith(f"{prefix}.")}

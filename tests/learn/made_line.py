"""A line learned from points: the smallest task."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.learn.fit import Part, fit
from interloq.learn.settings import Training


class Line:
    """y = 3x₀ − 2x₁ + noise, with dropout so that random numbers matter."""

    def __init__(self, n: int = 200, *, dropout: float = 0.2, noise: float = 0.0) -> None:
        torch.manual_seed(5)
        self.network = torch.nn.Sequential(
            torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Dropout(dropout), torch.nn.Linear(16, 1)
        )
        rng = np.random.default_rng(0)
        self.x = {part: rng.normal(size=(n, 2)).astype(np.float32) for part in ("train", "dev")}
        self.y = {part: x @ [3.0, -2.0] + noise * rng.normal(size=n) for part, x in self.x.items()}

    def batches(self, part: Part, epoch: int) -> list[NDArray[np.int64]]:
        n = len(self.x[part])
        order = np.random.default_rng(epoch).permutation(n) if part == "train" else np.arange(n)
        return [order[i : i + 20] for i in range(0, n, 20)]

    def prepare(self, part: Part, examples: NDArray[np.int64]) -> Any:
        return torch.from_numpy(self.x[part][examples]), torch.from_numpy(self.y[part][examples]).float()

    def loss(self, prepared: Any) -> torch.Tensor:
        x, y = prepared
        return ((self.network(x)[:, 0] - y) ** 2).sum()


FEW = Training(epochs=6, learning_rate=0.02, patience=6)


def curve_of(task: Any, training: Training, folder: Path, **options: Any) -> list[dict[str, Any]]:
    return [
        {name: epoch[name] for name in ("epoch", "train_loss", "dev_loss")}
        for epoch in fit(task, training, folder, job="a", device="cpu", **options)
    ]


class Slow(Line):
    """Takes its time, so that a signal comes before the end."""

    started: Path

    def loss(self, prepared: Any) -> torch.Tensor:
        self.started.touch()
        time.sleep(0.02)
        return super().loss(prepared)


def started(
    folder: Path, *, slow: bool, checkpoint_minutes: float = 0.0, environment: Mapping[str, str] = MappingProxyType({})
) -> BaseProcess:
    """A training in a process of its own, which writes its curve beside the folder when it is done.

    It is a fork of a server that has torch loaded, which takes longer than the training.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(["torch._dynamo", "interloq.learn.fit", __name__])
    process = context.Process(target=_train, args=(folder, slow, checkpoint_minutes, dict(environment)))
    process.start()
    return process


def _train(folder: Path, slow: bool, checkpoint_minutes: float, environment: dict[str, str]) -> None:
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # no traceback of an interrupt
    task = Slow() if slow else Line(dropout=0.0)
    if isinstance(task, Slow):
        task.started = folder.with_name("started")
    curve = fit(task, replace(FEW, checkpoint_minutes=checkpoint_minutes), folder, job="a", device="cpu")
    folder.with_name(f"curve-{os.environ.get('RANK', '0')}.json").write_text(json.dumps(curve))

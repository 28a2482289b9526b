"""A line learned from points: the smallest task."""

from __future__ import annotations

from pathlib import Path
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

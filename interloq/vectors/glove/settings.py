"""The settings of GloVe, apart from its training: asking for the defaults needs neither numba nor torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interloq.data.tokenize import Tokenizer
from interloq.errors import InputError
from interloq.registry import Component, component

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Glove(Component):
    """All that decides what is learned; threads, memory and device do not belong to it."""

    dimensions: int = 300
    window: int = 15
    x_max: float = 100.0
    alpha: float = 0.75
    epochs: int = 25
    learning_rate: float = 0.05
    bias_rate: float | None = None  # None: the learning rate
    clip: float = 100.0
    min_count: int = 5
    max_vocabulary: int = 400_000
    keep_duplicates: bool = False
    seed: int = 0
    tokenizer: Tokenizer = component("tokenizer", "13a(lowercase=True)")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("dimensions", "window", "x_max", "epochs", "learning_rate", "clip", "min_count", "max_vocabulary"):
            if getattr(self, name) <= 0:
                raise InputError(f"{name} must be above 0, got {getattr(self, name)}")
        for name, value in (("alpha", self.alpha), ("seed", self.seed), ("bias_rate", self.bias_rate or 0)):
            if value < 0:
                raise InputError(f"{name} must not be below 0, got {value}")

    def targets(self, values: Floats) -> tuple[Floats, Floats]:
        """log X and f(X)."""
        weights = np.minimum(np.float32(1), (values / np.float32(self.x_max)) ** np.float32(self.alpha))
        return np.log(values), weights

    def rates(self) -> tuple[np.float32, np.float32, np.float32]:
        """Learning rate of vectors and of biases, and the clip."""
        bias_rate = self.learning_rate if self.bias_rate is None else self.bias_rate
        return np.float32(self.learning_rate), np.float32(bias_rate), np.float32(self.clip)

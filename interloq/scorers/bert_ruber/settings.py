"""The settings of BERT-RUBER's scorer, apart from it: asking for the defaults needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from interloq.errors import InputError
from interloq.learn.settings import Training
from interloq.registry import Component

TRAINING = Training(epochs=15, learning_rate=1e-3)


@dataclass(frozen=True)
class BertRuberSettings(Component):
    """What the scorer reads and learns from. `layer` counts from 1; None is the encoder's last."""

    pooling: Literal["max", "mean"] = "mean"
    layer: int | None = None
    longest: int = 128  # tokens of a text that count
    batch: int = 128
    dev: int = 10_000  # pairs for checking, at most a tenth
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("longest", "batch", "dev"):
            if getattr(self, name) <= 0:
                raise InputError(f"{name} must be above 0, got {getattr(self, name)}")
        if self.seed < 0:
            raise InputError(f"seed must not be below 0, got {self.seed}")

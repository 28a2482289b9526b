"""The settings of the training loop, apart from it: asking for the defaults needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from interloq.errors import InputError
from interloq.registry import Component


@dataclass(frozen=True)
class Training(Component):
    """How a network learns. What it is and what it learns from belong to the task."""

    epochs: int = 15
    learning_rate: float = 1e-3
    optimizer: Literal["adam", "adamw"] = "adam"
    weight_decay: float = 0.0
    schedule: Literal["constant", "linear"] = "constant"
    warmup: float = 0.0  # share of all steps in which the rate rises
    clip: float = 0.0  # norm that gradients are cut to; 0: not at all
    accumulate: int = 1  # batches a step
    patience: int = 3  # epochs without a better dev loss before it stops
    amp: Literal["auto", "bf16", "off"] = "auto"  # auto: bf16 on a GPU
    compile: bool = False
    checkpoint_minutes: float = 10.0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("epochs", "learning_rate", "accumulate", "patience"):
            if getattr(self, name) <= 0:
                raise InputError(f"{name} must be above 0, got {getattr(self, name)}")
        for name in ("weight_decay", "clip", "checkpoint_minutes", "seed"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} must not be below 0, got {getattr(self, name)}")
        if not 0 <= self.warmup <= 1:
            raise InputError(f"warmup must be from 0 to 1, got {self.warmup}")

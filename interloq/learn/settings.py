# SPDX-License-Identifier: Apache-2.0
"""Settings of the training loop, in their own module so that reading the defaults does not import torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from interloq.errors import InputError
from interloq.options import option
from interloq.registry import Component, full_spec


def check_positive(settings: Any, *names: str) -> None:
    """Refuse fields that are not above 0, and a seed below 0."""
    for name in names:
        if getattr(settings, name) <= 0:
            raise InputError(f"{name} must be above 0, got {getattr(settings, name)}")
    if getattr(settings, "seed", 0) < 0:
        raise InputError(f"seed must not be below 0, got {settings.seed}")


@dataclass(frozen=True)
class Training(Component):
    """Settings of the training loop; network and data belong to the task."""

    epochs: int = option(15, "maximum passes over all examples")
    learning_rate: float = option(1e-3, "peak learning rate")
    optimizer: Literal["adam", "adamw"] = "adam"
    weight_decay: float = option(0.0, "weight decay")
    schedule: Literal["constant", "linear"] = option("constant", "decay of the learning rate")
    warmup: float = option(0.0, "share of steps for learning-rate warmup")
    clip: float = option(0.0, "maximum gradient norm; 0: no clipping")
    accumulate: int = option(1, "batches per step")
    patience: int = option(3, "epochs without a better dev loss before training stops")
    amp: Literal["auto", "bf16", "off"] = option("auto", "mixed precision; auto: bf16 on a GPU")
    compile: bool = option(False, "compile the network with torch first")
    threads: int = option(1, "threads on a processor; the trained weights depend on it, but not on the number of cores")
    checkpoint_minutes: float = option(10.0, "minutes between checkpoints; inf: none")
    seed: int = option(0, "seed of initial weights, order and random draws")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "epochs", "learning_rate", "accumulate", "patience", "threads")
        for name in ("weight_decay", "clip", "checkpoint_minutes"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} must not be below 0, got {getattr(self, name)}")
        if not 0 <= self.warmup <= 1:
            raise InputError(f"warmup must be from 0 to 1, got {self.warmup}")


@dataclass(frozen=True)
class LowRank(Component):
    """Which weights of a pretrained network learn: all, or updates of low rank; see `interloq.learn.low_rank`."""

    low_rank: int = option(0, "train updates of this rank to the encoder's weights, and the head; 0: all weights")
    low_rank_scale: float = option(2.0, "factor of these updates, α / rank of LoRA")
    low_rank_biases: bool = option(False, "with --low-rank, train biases and layer norms too")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low_rank < 0:
            raise InputError(f"low_rank must not be below 0, got {self.low_rank}")
        check_positive(self, "low_rank_scale")

    @property
    def parts(self) -> dict[str, str]:
        """What names of jobs and signatures contain: nothing if all weights learn."""
        if not self.low_rank:
            return {}
        return {"low_rank": full_spec(self)}

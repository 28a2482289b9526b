# SPDX-License-Identifier: Apache-2.0
"""Settings of the training loop, in their own module so that reading the defaults does not import torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from interloq.options import option
from interloq.registry import Component, full_spec


@dataclass(frozen=True)
class Training(Component):
    """Settings of the training loop; network and data belong to the task."""

    epochs: int = option(15, "maximum passes over all examples", above=0)
    learning_rate: float = option(1e-3, "peak learning rate", above=0)
    optimizer: Literal["adam", "adamw"] = "adam"
    weight_decay: float = option(0.0, "weight decay", least=0)
    schedule: Literal["constant", "linear"] = option("constant", "decay of the learning rate")
    warmup: float = option(0.0, "share of steps for learning-rate warmup", least=0, most=1)
    clip: float = option(0.0, "maximum gradient norm; 0: no clipping", least=0)
    accumulate: int = option(1, "batches per step", above=0)
    patience: int = option(
        3, "epochs without a better dev loss before training stops; 0: never, so all epochs are trained", least=0
    )
    amp: Literal["auto", "bf16", "off"] = option("auto", "mixed precision; auto: bf16 on a GPU")
    compile: bool = option(False, "compile the network with torch first")
    threads: int = option(
        1, "threads on a processor; the trained weights depend on it, but not on the number of cores", above=0
    )
    checkpoint_minutes: float = option(10.0, "minutes between checkpoints; inf: none", least=0)
    seed: int = option(0, "seed of initial weights, order and random draws", least=0)


@dataclass(frozen=True)
class LowRank(Component):
    """Which weights of a pretrained network learn: all, or updates of low rank; see `interloq.learn.low_rank`."""

    low_rank: int = option(
        0, "train updates of this rank to the encoder's weights, and the head; 0: all weights", least=0
    )
    low_rank_scale: float = option(2.0, "factor of these updates, α / rank of LoRA", above=0)
    low_rank_biases: bool = option(False, "with --low-rank, train biases and layer norms too")

    @property
    def parts(self) -> dict[str, str]:
        """What names of jobs and signatures contain: nothing if all weights learn."""
        if not self.low_rank:
            return {}
        return {"low_rank": full_spec(self)}

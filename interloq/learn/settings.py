"""The settings of the training loop, apart from it: asking for the defaults needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from interloq.errors import InputError
from interloq.registry import Component, full_spec


def option(default: Any, what: str, **more: Any) -> Any:
    """A field that the command line offers as an option. `what` is its help text.

    `more` may be: `metavar`; `path=True`, a file or folder to read; `required=True`; `repeat=True`, a tuple that grows
    each time the option is given; `shown`, what the help calls the default (by default, its value).
    """
    return field(default=default, metadata={"help": what, **more})


@dataclass(frozen=True)
class Training(Component):
    """How a network learns. What it is and what it learns from belong to the task."""

    epochs: int = option(15, "passes over all examples, at most")
    learning_rate: float = option(1e-3, "highest step of the optimizer")
    optimizer: Literal["adam", "adamw"] = "adam"
    weight_decay: float = option(0.0, "pull of the weights towards 0")
    schedule: Literal["constant", "linear"] = option("constant", "how the learning rate falls")
    warmup: float = option(0.0, "share of all steps in which the learning rate rises")
    clip: float = option(0.0, "norm that gradients are cut to; 0: not at all")
    accumulate: int = option(1, "batches per step")
    patience: int = option(3, "epochs without a better dev loss before it stops")
    amp: Literal["auto", "bf16", "off"] = option("auto", "mixed precision; auto: bf16 on a GPU")
    compile: bool = option(False, "let torch compile the network first")
    checkpoint_minutes: float = option(10.0, "minutes between checkpoints")
    seed: int = option(0, "seed of start values, order and random draws")

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
        if self.low_rank_scale <= 0:
            raise InputError(f"low_rank_scale must be above 0, got {self.low_rank_scale}")

    @property
    def parts(self) -> dict[str, str]:
        """What names of jobs and signatures contain: nothing if all weights learn."""
        return {"low_rank": full_spec(self)} if self.low_rank else {}

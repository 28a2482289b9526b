"""The settings of pre-training on logs, apart from it: asking for the defaults needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from interloq.errors import InputError
from interloq.learn.settings import Training
from interloq.registry import Component

Objective = Literal["auto", "mlm", "lm"]
ADAPT = Training(
    epochs=3,
    learning_rate=5e-5,
    optimizer="adamw",
    weight_decay=0.01,
    schedule="linear",
    warmup=0.06,
    clip=1.0,
    patience=2,
)
SCRATCH = Training(
    epochs=20,
    learning_rate=1e-3,
    optimizer="adamw",
    weight_decay=0.01,
    schedule="linear",
    warmup=0.06,
    clip=1.0,
    patience=3,
)


@dataclass(frozen=True)
class Adaptation(Component):
    """What a network learns from a log, and how much of it at a time."""

    objective: Objective = "auto"  # mlm where the network is an encoder, lm where it continues texts
    mask: float = 0.15  # share of the tokens that an encoder has to guess
    batch: int = 64
    tokens: int = 8192  # of a batch, if all its pairs were as long as its longest
    longest: int = 128  # tokens of a text that count
    dev: int = 2000  # pairs for checking, at most a tenth
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _above_0(self, "batch", "tokens", "longest", "dev")
        if not 0 < self.mask < 1:
            raise InputError(f"mask must be between 0 and 1, got {self.mask}")
        if self.seed < 0:
            raise InputError(f"seed must not be below 0, got {self.seed}")


@dataclass(frozen=True)
class SmallEncoder(Component):
    """The shape of a BERT that starts from nothing."""

    layers: int = 4
    dimensions: int = 256
    heads: int = 4
    vocabulary: int = 8000

    def __post_init__(self) -> None:
        super().__post_init__()
        _above_0(self, "layers", "dimensions", "heads", "vocabulary")
        if self.dimensions % self.heads:
            raise InputError(
                f"{self.dimensions} dimensions cannot be shared by {self.heads} heads",
                cure="choose dimensions that heads divide",
            )


def _above_0(settings: Component, *names: str) -> None:
    for name in names:
        if getattr(settings, name) <= 0:
            raise InputError(f"{name} must be above 0, got {getattr(settings, name)}")

"""The settings of RUBER's unreferenced scorer, apart from it: asking for the defaults needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

from interloq.errors import InputError
from interloq.learn.settings import Training
from interloq.registry import Component

TRAINING = Training(epochs=15, learning_rate=1e-4)


@dataclass(frozen=True)
class Unreferenced(Component):
    """What the scorer is and what it learns from."""

    embedding: int = 128
    hidden: int = 128
    margin: float = 0.5
    batch: int = 128
    vocabulary: int = 16_000  # pieces of a tokenizer trained here
    longest: int = 128  # pieces of a text that count
    dev: int = 10_000  # pairs for checking, at most a tenth
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("embedding", "hidden", "margin", "batch", "vocabulary", "longest", "dev"):
            if getattr(self, name) <= 0:
                raise InputError(f"{name} must be above 0, got {getattr(self, name)}")
        if self.seed < 0:
            raise InputError(f"seed must not be below 0, got {self.seed}")

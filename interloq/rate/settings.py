"""The settings of the NN-raters, apart from them: asking for the defaults needs no torch.

Those of the Bi-GRU are the papers'. For BERT the paper names none: these are usual where one is fine-tuned.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from interloq.errors import InputError
from interloq.learn.settings import Training
from interloq.registry import Component


class _Sizes(Component):
    def __post_init__(self) -> None:
        super().__post_init__()
        for field in fields(self):  # type: ignore[arg-type]
            if getattr(self, field.name) < 1:
                raise InputError(f"{field.name} must be at least 1, got {getattr(self, field.name)}")


@dataclass(frozen=True)
class Shape(_Sizes):
    """Sizes of the network."""

    embedding: int = 512
    hidden: int = 512  # units of the Bi-GRU in each direction
    layers: int = 5  # with ReLU, between the texts' vectors and the two logits
    width: int = 1024


@dataclass(frozen=True)
class Batching(_Sizes):
    """How examples are put together: at most `batch` of them, and `tokens` if all were as long as the longest."""

    batch: int = 1_000
    tokens: int = 2**16


BERT_TRAINING = Training(
    epochs=3, learning_rate=3e-5, optimizer="adamw", weight_decay=0.01, schedule="linear", warmup=0.1, clip=1.0
)
BERT_BATCHING = Batching(batch=128, tokens=2**15)
BERT_LONGEST = 64  # tokens of a text that count: three of them are read together

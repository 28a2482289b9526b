# SPDX-License-Identifier: Apache-2.0
"""Settings of RUBER's unreferenced scorer, in their own module so that the defaults do not need torch."""

from __future__ import annotations

from dataclasses import dataclass

from interloq.learn.settings import Training, check_positive
from interloq.learn.trainable import Trainable, scorer_result
from interloq.options import option
from interloq.registry import Component

TRAINING = Training(epochs=15, learning_rate=1e-4)


@dataclass(frozen=True)
class Unreferenced(Component):
    """Sizes of the scorer's network, and its training data."""

    embedding: int = option(128, "dimensions of piece vectors")
    hidden: int = option(128, "units of a Bi-GRU in each direction")
    margin: float = option(0.5, "margin by which a true reply must beat a random one")
    batch: int = option(128, "pairs per batch")
    vocabulary: int = option(16_000, "pieces of the tokenizer, if one is trained")
    longest: int = option(128, "pieces of a text that are used")
    dev: int = option(10_000, "pairs for the dev part, at most a tenth")
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "embedding", "hidden", "margin", "batch", "vocabulary", "longest", "dev")


@dataclass(frozen=True)
class RuberTokenizer:
    """The tokenizer."""

    tokenizer: str | None = option(None, "a SentencePiece model", path=True, shown="one trained on the pairs")


TRAINABLE = Trainable(
    "RUBER's unreferenced scorer from pairs",
    (RuberTokenizer(), TRAINING, Unreferenced()),
    job="interloq.scorers.ruber.job:from_log",
    result=scorer_result,
    extra="rater",
    name="ruber",
)

# SPDX-License-Identifier: Apache-2.0
"""Settings of RUBER's unreferenced scorer, in their own module so that the defaults do not need torch."""

from __future__ import annotations

from dataclasses import dataclass

from interloq.learn.settings import Training
from interloq.learn.trainable import Trainable, scorer_result
from interloq.options import check_limits, limited, option
from interloq.registry import Component

TRAINING = Training(epochs=15, learning_rate=1e-4)


@dataclass(frozen=True)
class Unreferenced(Component):
    """Sizes of the scorer's network, and its training data."""

    embedding: int = option(128, "dimensions of piece vectors", above=0)
    hidden: int = option(128, "units of a Bi-GRU in each direction", above=0)
    margin: float = option(0.5, "margin by which a true reply must beat a random one", above=0)
    batch: int = option(128, "pairs per batch", above=0)
    vocabulary: int = option(16_000, "pieces of the tokenizer, if one is trained", above=0)
    longest: int = option(128, "pieces of a text that are used", above=0)
    dev: int = option(10_000, "pairs for the dev part, at most a tenth", above=0)
    seed: int = limited(0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(self)


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

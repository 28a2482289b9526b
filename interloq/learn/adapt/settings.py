# SPDX-License-Identifier: Apache-2.0
"""Settings of pre-training on logs, in their own module so that reading the defaults does not import torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from interloq.errors import InputError
from interloq.learn.settings import Training
from interloq.learn.trainable import Facts, Trainable
from interloq.options import limited, option
from interloq.registry import Component

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
SCRATCH = replace(ADAPT, epochs=20, learning_rate=1e-3, patience=3)


@dataclass(frozen=True)
class Adaptation(Component):
    """Settings of training on a log: objective, masking and batches."""

    objective: Literal["auto", "mlm", "lm"] = option(
        "auto", "predict masked tokens (mlm) or the next one (lm); auto: as the model was pretrained"
    )
    mask: float = option(0.15, "share of tokens that are masked for an encoder")
    batch: int = option(64, "maximum pairs per batch", above=0)
    tokens: int = option(8192, "maximum tokens per batch, padding included", above=0)
    longest: int = option(128, "tokens of a text that are used", above=0)
    dev: int = option(2000, "pairs for the dev part, at most a tenth", above=0)
    seed: int = limited(0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.mask < 1:
            raise InputError(f"mask must be between 0 and 1, got {self.mask}")


@dataclass(frozen=True)
class SmallEncoder(Component):
    """Shape of a BERT trained from scratch."""

    layers: int = option(4, "layers of the network", above=0)
    dimensions: int = option(256, "dimensions of token vectors", above=0)
    heads: int = option(4, "attention heads", above=0)
    vocabulary: int = option(8000, "maximum vocabulary size of the tokenizer", above=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dimensions % self.heads:
            raise InputError(
                f"{self.dimensions} dimensions cannot be divided among {self.heads} heads",
                hint="make dimensions a multiple of heads",
            )


@dataclass(frozen=True)
class StartingModel:
    """The network to start from, and training data other than logs."""

    model: str = option("", "a folder, an installed package, or hub:org/name@revision", path=True, required=True)
    examples: str | None = option(
        None, "examples kept by `train relevance --examples`, instead of logs", path=True, metavar="FOLDER"
    )


def _result(facts: Facts, _: list[Facts]) -> str:
    before, after = facts["before"], facts["after"]
    losses = f"dev loss {before['dev_loss']:.4f} before, {after['dev_loss']:.4f} after"
    perplexities = f"perplexity {before['perplexity']:,.1f} before, {after['perplexity']:,.1f} after"
    return f"{losses} epoch {after['epoch']}; {perplexities}"


ADAPT_TRAINABLE = Trainable(
    "a pretrained encoder or language model further, on logs",
    (StartingModel(), Adaptation(), ADAPT),
    job="interloq.scorers.relevance.pairs:adapt_job",
    result=_result,
    loop=("warmup", "weight_decay", "clip", "accumulate", "amp"),
    needs_files=False,
    name="adapt",
)
ENCODER_TRAINABLE = replace(
    ADAPT_TRAINABLE,
    summary="a small encoder from scratch, on logs",
    settings=(SmallEncoder(), Adaptation(), SCRATCH),
    job="interloq.learn.adapt.scratch:from_log",
    hidden=("objective",),
    needs_files=True,
    name="encoder",
)

"""The settings of pre-training on logs, apart from it: asking for the defaults needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from interloq.errors import InputError
from interloq.learn.settings import Training, option
from interloq.learn.trainable import Facts, Trainable
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

    objective: Literal["auto", "mlm", "lm"] = option(
        "auto", "guess masked tokens (mlm) or the next one (lm); auto: as the model was made"
    )
    mask: float = option(0.15, "share of tokens that an encoder has to guess")
    batch: int = option(64, "pairs in a batch, at most")
    tokens: int = option(8192, "tokens in a batch, padding included, at most")
    longest: int = option(128, "tokens of a text that count")
    dev: int = option(2000, "pairs kept for checking, at most a tenth")
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

    layers: int = option(4, "layers of the network")
    dimensions: int = option(256, "numbers in the vector of a token")
    heads: int = option(4, "attention heads")
    vocabulary: int = option(8000, "pieces of its tokenizer, at most")

    def __post_init__(self) -> None:
        super().__post_init__()
        _above_0(self, "layers", "dimensions", "heads", "vocabulary")
        if self.dimensions % self.heads:
            raise InputError(
                f"{self.dimensions} dimensions cannot be shared by {self.heads} heads",
                hint="choose dimensions that heads divide",
            )


def _above_0(settings: Component, *names: str) -> None:
    for name in names:
        if getattr(settings, name) <= 0:
            raise InputError(f"{name} must be above 0, got {getattr(settings, name)}")


@dataclass(frozen=True)
class Pretrained:
    """What a network begins with and learns from, besides logs."""

    model: str = option("", "a folder, an installed package, or hub:org/name@revision", path=True, required=True)
    examples: str | None = option(
        None, "what `train relevance --examples` kept, in place of logs", path=True, metavar="FOLDER"
    )


def _result(facts: Facts, _: list[Facts]) -> str:
    before, after = facts["before"], facts["after"]
    losses = f"dev loss {before['dev_loss']:.4f} before, {after['dev_loss']:.4f} after"
    perplexities = f"perplexity {before['perplexity']:,.1f} before, {after['perplexity']:,.1f} after"
    return f"{losses} epoch {after['epoch']}; {perplexities}"


ADAPT_TRAINABLE = Trainable(
    "a pretrained encoder or language model further, on logs",
    (Pretrained(), Adaptation(), ADAPT),
    job="interloq.scorers.relevance.pairs:adapt_job",
    result=_result,
    loop=("warmup", "weight_decay", "clip", "accumulate", "amp"),
    needs_files=False,
)
ENCODER_TRAINABLE = replace(
    ADAPT_TRAINABLE,
    summary="a small encoder from nothing but logs",
    settings=(SmallEncoder(), Adaptation(), SCRATCH),
    job="interloq.learn.adapt.scratch:from_log",
    hidden=("objective",),
    needs_files=True,
)

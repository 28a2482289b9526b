# SPDX-License-Identifier: Apache-2.0
"""Settings of networks that write replies, in their own module so that the defaults do not need torch."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from interloq.errors import InputError
from interloq.learn.settings import Training
from interloq.learn.trainable import Facts, Trainable
from interloq.options import limited, option
from interloq.registry import Component

TRAINING = Training(
    epochs=10,
    learning_rate=1e-3,
    optimizer="adamw",
    weight_decay=0.01,
    schedule="linear",
    warmup=0.03,
    clip=1.0,
    patience=2,
)
Architecture = Literal["lstm", "conv", "transformer", "vhred"]
LAYERS: dict[str, int] = {"lstm": 2, "conv": 4, "transformer": 3, "vhred": 1}  # if none are given
# options that only one kind of network has
OWN = {
    "heads": "transformer",
    "kernel": "conv",
    "latent": "vhred",
    "annealing": "vhred",
    "word_dropout": "vhred",
}


@dataclass(frozen=True)
class BotReading(Component):
    """How much of a conversation is read, and how it is split into tokens."""

    turns: int = option(6, "last turns of a context that are read", above=0)
    context: int = option(96, "last tokens of a context that are read", above=0)
    reply: int = option(40, "first tokens of a reply that are learned", above=0)
    vocabulary: int = option(8_000, "pieces of the tokenizer, if one is trained", above=0)
    dev: int = option(5_000, "exchanges for the dev part, at most a tenth", above=0)
    language: str = option(
        "auto",
        "language of the log; ja and zh have perplexities per character instead of per word; auto: by its texts",
    )


@dataclass(frozen=True)
class BotNetwork(Component):
    """Kind and sizes of the network, and its batches."""

    kind: Architecture = option("transformer", "kind of network")
    dimensions: int = option(256, "dimensions of token vectors and states", above=0)
    layers: int = option(0, "layers of encoder and decoder", shown="lstm 2, conv 4, transformer 3, vhred 1", least=0)
    heads: int = option(4, "attention heads of a transformer", above=0)
    kernel: int = option(3, "tokens that a convolution sees; an odd number", above=0)
    latent: int = option(64, "dimensions of the latent variable of vhred", above=0)
    annealing: float = option(2.0, "epochs in which the weight of vhred's KL term rises from 0 to 1", least=0)
    word_dropout: float = option(0.25, "share of the reply's tokens that vhred's decoder does not see", least=0, most=1)
    dropout: float = option(0.1, "dropout", least=0, most=0.99)
    tokens: int = option(16_384, "tokens per batch, padding included; a batch may exceed it by a few", above=0)
    batch: int = option(1_024, "maximum exchanges per batch", above=0)
    reverse: bool = option(False, "learn p(last turn | reply) instead, to re-rank replies by mutual information")
    seed: int = limited(0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in fields(self):
            owner = OWN.get(field.name, self.kind)
            if owner != self.kind and getattr(self, field.name) != field.default:
                raise InputError(f"{field.name} is used with kind {owner} only, not with {self.kind}")
        parts = 2 * (self.heads if self.kind == "transformer" else 1)
        if self.dimensions % parts:
            raise InputError(f"dimensions must be a multiple of {parts}, got {self.dimensions}", hint="see --heads")
        if self.kernel % 2 == 0:
            raise InputError(f"kernel must be an odd number, got {self.kernel}")

    @property
    def depth(self) -> int:
        """Number of layers."""
        return self.layers or LAYERS[self.kind]


@dataclass(frozen=True)
class BotSources:
    """The tokenizer, and tokenised exchanges of earlier jobs."""

    tokenizer: str | None = option(None, "a SentencePiece model", path=True, shown="one trained on the log")
    examples: str | None = option(
        None, "folder for the tokenised exchanges; existing ones are reused", path=True, metavar="FOLDER"
    )


def _result(facts: Facts, _: list[Facts]) -> str:
    best, perplexity = facts["best"], facts["perplexity"]
    bound = "at most " if "kl" in facts else ""
    latent = f"; KL {facts['kl']:.2f} nats per reply" if "kl" in facts else ""
    unit = facts["word"]
    return (
        f"dev perplexity {bound}{perplexity['token']:,.1f} per token, {bound}{perplexity['word']:,.1f} per {unit}, "
        f"after epoch {best['epoch']}{latent}"
    )


NETWORKS = Trainable(  # `interloq train bot` without --model; see play/causal/settings.py
    "a bot that writes replies (LSTM, convolutional, Transformer, VHRED), on dialogues, pairs or samples",
    (BotSources(), BotReading(), BotNetwork(), TRAINING),
    job="interloq.play.networks.job:from_log",
    result=_result,
    noun="bot",
    loop=("schedule", "warmup", "weight_decay", "clip", "amp"),
    extra="rater",
    reads="dialogues, pairs or samples",
    unit="exchange",
    needs_files=False,
)

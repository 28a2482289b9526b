# SPDX-License-Identifier: Apache-2.0
"""Settings of causal language models that write replies, in their own module so that the defaults do not need torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from interloq.errors import InputError
from interloq.learn.settings import LowRank, Training
from interloq.learn.trainable import Facts, Trainable
from interloq.options import limited, option
from interloq.play.networks.settings import NETWORKS, BotReading
from interloq.registry import Component

TRAINING = Training(
    epochs=3,
    learning_rate=5e-5,
    optimizer="adamw",
    weight_decay=0.01,
    schedule="linear",
    warmup=0.03,
    clip=1.0,
    patience=2,
)
READING = BotReading(turns=8, context=256, reply=64)
SHARED, OWN = "<|user|>", "<|user:{}|>"  # tokens of speakers: without one of their own, and with one


@dataclass(frozen=True)
class CausalSource:
    """The language model to start from."""

    model: str | None = option(
        None,
        "tune this causal language model: a folder, an installed package, or `hub:org/name@revision`",
        path=True,
        metavar="MODEL",
    )


@dataclass(frozen=True)
class CausalSettings(Component):
    """What is learned from the model, and its batches."""

    reinitialise: bool = option(False, "start from random weights; only the model's shape and tokenizer are used")
    layers: int = option(0, "with --reinitialise, number of layers", shown="the model's", least=0)
    speaker_token: bool = option(False, "learn a token per user, which stands before the user's replies")
    user_replies: int = option(20, "replies of a user that has a token; users with fewer share one", above=0)
    shared: float = option(0.1, "share of the other users' replies that teach the shared token", least=0, most=1)
    reverse: bool = option(False, "learn p(last turn | reply) instead, to re-rank replies by mutual information")
    batch: int = option(1_024, "maximum exchanges per batch", above=0)
    tokens: int = option(16_384, "maximum tokens per batch, padding included", above=0)
    seed: int = limited(0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layers and not self.reinitialise:
            raise InputError(f"{self.layers} layers need --reinitialise", hint="a tuned model keeps all its layers")
        if self.reverse and self.speaker_token:
            raise InputError("a reverse model has no speaker tokens", hint="omit --speaker-token")


def find_speaker_token(tokenizer: Any, user: str) -> int | None:
    """Return the token of a user, or the shared one of users without their own; None for a model without them."""
    known: dict[str, int] = tokenizer.get_added_vocab()
    shared = known.get(SHARED)
    if shared is None and user:
        raise InputError("the model has no speaker tokens", hint="omit user, or train it with --speaker-token")
    return known.get(OWN.format(user), shared)


def _result(facts: Facts, _: list[Facts]) -> str:
    best, perplexity = facts["best"], facts["perplexity"]
    speakers = f"; {facts['users']:,} users have a token" if facts["speakers"] else ""
    return (
        f"dev perplexity {perplexity['token']:,.1f} per token, {perplexity['word']:,.1f} per {facts['word']}, "
        f"after epoch {best['epoch']}{speakers}"
    )


CAUSAL = Trainable(
    "a causal language model that writes replies",
    (CausalSource(), READING, CausalSettings(), LowRank(), TRAINING),
    job="interloq.play.causal.job:from_log",
    result=_result,
    noun="bot",
    loop=("schedule", "warmup", "weight_decay", "clip", "amp"),
    hidden=("vocabulary",),
    reads="dialogues, pairs or samples",
    unit="exchange",
)
TRAINABLE = replace(NETWORKS, instead=("model", CAUSAL), name="bot")

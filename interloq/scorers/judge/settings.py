# SPDX-License-Identifier: Apache-2.0
"""Settings of the scorer `judge`, in their own module so that reading the defaults does not import torch."""

from __future__ import annotations

from dataclasses import dataclass

from interloq.errors import count
from interloq.learn.settings import LowRank, Training
from interloq.learn.trainable import Facts, Trainable
from interloq.options import limited, option
from interloq.registry import Component

LEAST = 50
TUNING = Training(
    epochs=3, learning_rate=2e-5, optimizer="adamw", weight_decay=0.01, schedule="linear", warmup=0.1, clip=1.0
)


@dataclass(frozen=True)
class Network:
    """The network that a judge starts from, and whether it is trained too."""

    scorer: str = option(
        "ready",
        "start from this judge: ready, ready-large or a folder; or from the folder of a relevance scorer; with --tune, "
        "from a relevance scorer: a folder, ready or ready-large",
        path=True,
        metavar="FOLDER",
    )
    tune: bool = option(False, "fine-tune the network itself on one aspect, instead of heads on its frozen states")


@dataclass(frozen=True)
class JudgeSettings(Component):
    """Settings for learning heads from ratings, on the states of a frozen network."""

    least: int = option(LEAST, "minimum number of rated replies per set to learn an aspect from", above=0)


@dataclass(frozen=True)
class TuneSettings(Component):
    """Settings for fine-tuning the network on the ratings of one aspect."""

    aspect: str = option("overall", "aspect whose ratings are learned", metavar="NAME")
    least: int = option(LEAST, "minimum number of rated replies per set to learn an aspect from", above=0)
    replies: int = option(300, "replies per set and epoch, whatever the set's size", above=0)
    batch: int = option(32, "replies per batch, all of one set", above=0)
    seed: int = limited(0, least=0)


def _result(facts: Facts, _: list[Facts]) -> str:
    lines = []
    if best := facts.get("best"):
        lines.append(f"best dev loss {best['dev_loss']:.4f} after epoch {best['epoch']}")
    return "\n".join([*lines, *map(_format_aspect, facts["aspects"])])


def _format_aspect(aspect: Facts) -> str:
    """Return the result of one aspect in words."""
    learned = f"{count(aspect['replies'], 'reply', 'replies')} of {count(aspect['sets'], 'set')}"
    if aspect.get("corrected", {"used": "strength" in aspect})["used"]:
        learned += f", λ {aspect['strength']:g}"
    held_out = "held-out replies"
    if "held_out" in aspect:
        held_out = f"{aspect['held_out']:,} {held_out}"
    low, high = map(_number, aspect["ci"])
    text = f"{aspect['aspect']}: {learned}; Spearman on {held_out} {_number(aspect['spearman'])} [{low}, {high}]"
    if "start" not in aspect:
        return text
    start, corrected = aspect["start"], aspect["corrected"]
    low, high = map(_number, corrected["difference"])
    judge, interval = f"{start['judge']} ({start['aspect']})", f"95 % interval of the difference [{low}, {high}]"
    if corrected["used"]:
        return f"{text}; {judge} alone {_number(start['spearman'])}, {interval}"
    reached = _number(corrected["spearman"])
    return f"{text} by {judge}, which is kept: learning from these ratings did not help ({reached}, {interval})"


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


SUMMARY = "a scorer of replies from people's ratings"
READS = "samples with ratings; each file is one set"
TUNED = Trainable(
    SUMMARY,
    (Network(), TuneSettings(), TUNING, LowRank()),
    job="interloq.scorers.judge.tuned_job:from_log",
    result=_result,
    loop=("warmup", "weight_decay", "clip", "accumulate", "amp", "compile"),
    reads=READS,
    unit="sample",
)
TRAINABLE = Trainable(
    SUMMARY,
    (Network(), JudgeSettings()),
    job="interloq.scorers.judge.job:from_log",
    result=_result,
    reads=READS,
    unit="sample",
    instead=("tune", TUNED),
    name="judge",
)

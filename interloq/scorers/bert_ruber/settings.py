# SPDX-License-Identifier: Apache-2.0
"""Settings of BERT-RUBER's scorer, in their own module so that reading the defaults does not import torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from interloq.learn.settings import Training
from interloq.learn.trainable import Trainable, scorer_result
from interloq.options import check_limits, limited, option
from interloq.registry import Component

TRAINING = Training(epochs=15, learning_rate=1e-3)


@dataclass(frozen=True)
class BertRuberSettings(Component):
    """How the scorer reads and learns."""

    pooling: Literal["max", "mean"] = option("mean", "how token vectors are pooled into a text's vector")
    layer: int | None = option(None, "layer of the encoder, from 1", shown="the last")
    longest: int = option(128, "tokens of a text that are used", above=0)
    batch: int = option(128, "pairs per batch", above=0)
    dev: int = option(10_000, "pairs for the dev part, at most a tenth", above=0)
    seed: int = limited(0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(self)


@dataclass(frozen=True)
class BertRuberEncoder:
    """The encoder of the texts."""

    encoder: str = option("", "a folder, an installed package or hub:org/name@revision", path=True, required=True)


TRAINABLE = Trainable(
    "BERT-RUBER's scorer from pairs",
    (BertRuberEncoder(), BertRuberSettings(), TRAINING),
    job="interloq.scorers.bert_ruber.job:from_log",
    result=scorer_result,
    name="bert-ruber",
)

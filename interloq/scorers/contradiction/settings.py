# SPDX-License-Identifier: Apache-2.0
"""Settings of the scorer `contradiction`, without torch."""

from __future__ import annotations

from dataclasses import dataclass

from interloq.learn.settings import Training
from interloq.needs import SENTENCE_ENCODER
from interloq.options import limited, option
from interloq.registry import Component

ENCODER = SENTENCE_ENCODER
TRAINING = Training(
    epochs=2, learning_rate=5e-4, optimizer="adamw", weight_decay=0.01, schedule="linear", warmup=0.05, clip=1.0
)


@dataclass(frozen=True)
class ContradictionSettings(Component):
    """How much of each turn is read, and the batches of the training."""

    spec_name = "Contradiction"  # as in stored signatures and ids of jobs
    longest: int = option(64, "first tokens of a turn that are read", above=0)
    batch: int = option(256, "pairs per batch", above=0)
    seed: int = limited(0, least=0)

# SPDX-License-Identifier: Apache-2.0
"""The demo's rater: small enough to be trained in a minute."""

from __future__ import annotations

from typing import Any

from interloq.data.progress import Progress, silent
from interloq.learn.settings import Training
from interloq.rate.examples import Examples
from interloq.rate.settings import TRAINABLE, Batching, RaterSources, RaterTokenizer, Shape
from interloq.retrieve.training_log import TrainingLog
from interloq.terminal.console import print_stderr

# Sizes and epochs were chosen by the dev loss on the log. Japanese and Chinese use little more than single characters:
# with larger vocabularies, pieces are whole phrases, and what is learned about one does not carry over to others.
VOCABULARIES = {"en": 2000, "ja": 900, "zh": 900}
EPOCHS = {"en": 5, "ja": 5, "zh": 4}
SHAPE = Shape(embedding=64, hidden=32, layers=2, width=256)
BATCH, LEARNING_RATE, DEV_SHARE = 64, 0.002, 0.1


def options(language: str) -> list[str]:
    """Options of `interloq train rater` that train the same rater."""
    shape = f"--embedding {SHAPE.embedding} --hidden {SHAPE.hidden} --layers {SHAPE.layers} --width {SHAPE.width}"
    loop = f"--epochs {EPOCHS[language]} --batch {BATCH} --learning-rate {LEARNING_RATE} --dev-share {DEV_SHARE}"
    return f"--vocabulary {VOCABULARIES[language]} {shape} {loop} --seed 0 --device cpu".split()


def train_rater(log: str, output: str, *, without: str, language: str, progress: Progress) -> dict[str, Any]:
    """Train on the pairs of a log that do not overlap the samples in `without`; returns the facts of the rater."""
    from interloq.learn.job import train  # loads torch

    settings = (
        RaterSources(),
        Training(epochs=EPOCHS[language], learning_rate=LEARNING_RATE, seed=0),
        Batching(batch=BATCH),
        Examples(dev_share=DEV_SHARE, seed=0),
        RaterTokenizer(vocabulary=VOCABULARIES[language]),
        SHAPE,
    )
    job = TRAINABLE.make(TrainingLog([log], [without]), settings)
    report = (lambda _: None) if progress is silent else print_stderr
    return train(job, output, device="cpu", progress=progress, report=report)

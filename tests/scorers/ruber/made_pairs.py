"""Small pairs as tokens and a trained scorer."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.scorers.ruber.job import RuberJob
from interloq.scorers.ruber.settings import TRAINING, Unreferenced
from tests.made_ruber import topic_pairs

SMALL = Unreferenced(embedding=32, hidden=32, batch=32)
FAST = dataclasses.replace(TRAINING, epochs=5, learning_rate=2e-3)


def trained(folder: Path, pieces: Path, training: Training = FAST, **options: Any) -> dict[str, Any]:
    return train(job(800, training, pieces), folder, device="cpu", **options)


def job(pairs: int, training: Training, tokenizer: Path | None) -> RuberJob:
    return RuberJob(pairs=lambda: topic_pairs(pairs), settings=SMALL, training=training, tokenizer=tokenizer)

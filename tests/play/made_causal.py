"""Dialogues in which each user has an own answer, and causal models trained on them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from interloq import Dialogue, Turn, write
from interloq.learn.job import train
from interloq.learn.settings import LowRank, Training
from interloq.play.causal.job import CausalJob, from_log
from interloq.play.causal.settings import CausalSettings, CausalSource
from interloq.play.networks.settings import BotReading
from interloq.retrieve.training_log import TrainingLog

ANSWERS = {"ann": "good", "bob": "no", "cat": "day"}
QUESTIONS = ("how was it ?", "was it very good ?", "a film ?", "the film again ?")


def talks(n: int, seed: int = 0) -> list[Dialogue]:
    """Return dialogues of two turns: a stranger asks, and a user answers in the user's way."""
    rng = random.Random(seed)
    made = []
    for i in range(n):
        user = rng.choice(list(ANSWERS))
        question = f"{rng.choice(QUESTIONS)} {i}"
        made.append(Dialogue(f"d{i}", (Turn(question, f"guest{i}"), Turn(ANSWERS[user], user))))
    return made


def make_job(folder: Path, model: Path, *, epochs: int = 1, low_rank: int = 0, **settings: Any) -> CausalJob:
    """Return a small job on a log in the folder, which is written first if it is missing."""
    if not (folder / "log.jsonl").exists():
        write(folder / "log.jsonl", talks(240), kind="dialogues")
    return from_log(
        TrainingLog([str(folder / "log.jsonl")]),
        CausalSource(str(model)),
        BotReading(turns=2, context=24, reply=8, dev=24, language="en"),
        CausalSettings(tokens=1_024, **settings),
        LowRank(low_rank=low_rank),
        Training(epochs=epochs, learning_rate=0.02, optimizer="adamw", clip=1.0),
    )


def trained(folder: Path, model: Path, name: str = "bot", **options: Any) -> tuple[Path, dict[str, Any]]:
    """Return the folder of a trained model, and its facts."""
    facts = train(make_job(folder, model, **options), folder / name, device="cpu")
    return folder / name, facts

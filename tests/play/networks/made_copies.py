"""Dialogues in which a reply repeats a turn backwards, and networks that have learned it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.play.networks.job import BotJob, from_log
from interloq.play.networks.model import ReplyModel
from interloq.play.networks.settings import BotNetwork, BotReading, BotSources
from interloq.records import Turn
from interloq.retrieve.training_log import TrainingLog

WORDS = ("tea", "sea", "dog", "cat", "sun", "ice", "red", "old", "fox", "jam")
AGAIN = "again"
TRAINING = Training(epochs=20, learning_rate=0.01, optimizer="adamw", schedule="linear", warmup=0.1, clip=1.0)
READING = BotReading(vocabulary=40, reply=12, context=24, dev=60)
SMALL: dict[str, Any] = {"dimensions": 48, "layers": 1, "dropout": 0.0, "tokens": 400}
# what each kind needs to learn it
KINDS: dict[str, dict[str, Any]] = {
    "lstm": {},
    "conv": {},
    "transformer": {"learning_rate": 0.003, "epochs": 28, "layers": 2, "tokens": 300},
    "vhred": {"latent": 8, "word_dropout": 0.0, "epochs": 30},
}


def make_turn(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, 3)))


def answer(text: str) -> str:
    """Return the right reply to a turn."""
    return " ".join(reversed(text.split()))


def write_log(path: Path, n: int = 400, seed: int = 0) -> Path:
    """Write dialogues of four turns; the last one can only be known from the first two."""
    rng = random.Random(seed)
    with path.open("w") as file:
        for i in range(n):
            first = make_turn(rng)
            texts = [first, answer(first), AGAIN, answer(first)]
            turns = [{"speaker": "ab"[place % 2], "text": text} for place, text in enumerate(texts)]
            file.write(json.dumps({"id": f"d{i}", "turns": turns}) + "\n")
    return path


def make_job(log: Path, *, epochs: int = 20, learning_rate: float = 0.01, **settings: Any) -> BotJob:
    training = replace(TRAINING, epochs=epochs, learning_rate=learning_rate)
    network = BotNetwork(**SMALL | settings)
    return from_log(TrainingLog([str(log)]), BotSources(), READING, network, training)


def train_copies(folder: Path, log: Path, **settings: Any) -> ReplyModel:
    """Train a small network, and load it."""
    train(make_job(log, **settings), folder, device="cpu")
    return ReplyModel.load(folder, device="cpu")


def open_dialogues(n: int, seed: int = 9) -> tuple[list[list[Turn]], list[str]]:
    """Return dialogues after the first turn and after the third, and the right replies."""
    rng = random.Random(seed)
    dialogues, replies = [], []
    for i in range(n):
        text = make_turn(rng)
        turns = [Turn(text, "a")]
        if i % 2:
            turns += [Turn(answer(text), "b"), Turn(AGAIN, "a")]
        dialogues.append(turns)
        replies.append(answer(text))
    return dialogues, replies

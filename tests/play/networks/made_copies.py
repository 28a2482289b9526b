"""Dialogues in which the reply repeats the last turn backwards, and networks that have learned it."""

from __future__ import annotations

import random
from pathlib import Path

from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.play.networks.job import from_log
from interloq.play.networks.model import ReplyModel
from interloq.play.networks.settings import BotNetwork, BotReading, BotSources
from interloq.records import Turn
from interloq.retrieve.training_log import TrainingLog

WORDS = ("tea", "sea", "dog", "cat", "sun", "ice", "red", "old", "fox", "jam")
AGAIN = "again"
TRAINING = Training(epochs=12, learning_rate=0.01, optimizer="adamw", schedule="linear", clip=1.0, threads=1)
READING = BotReading(vocabulary=40, reply=12, context=24, dev=60)


def turn(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, 3)))


def answer(text: str) -> str:
    """Return the right reply to a turn."""
    return " ".join(reversed(text.split()))


def write_log(path: Path, n: int = 500, seed: int = 0) -> Path:
    """Write dialogues of four turns; the last one can only be known from the first two."""
    rng = random.Random(seed)
    lines = []
    for i in range(n):
        first = turn(rng)
        texts = [first, answer(first), AGAIN, answer(first)]
        turns = [{"speaker": "ab"[place % 2], "text": text} for place, text in enumerate(texts)]
        lines.append({"id": f"d{i}", "turns": turns})
    path.write_text("".join(f"{_dump(line)}\n" for line in lines))
    return path


def _dump(value: object) -> str:
    import json

    return json.dumps(value)


def train_copies(folder: Path, log: Path, **settings: object) -> ReplyModel:
    """Train a small network, and load it."""
    network = BotNetwork(**{"dimensions": 48, "layers": 1, "dropout": 0.0, "tokens": 800, **settings})  # type: ignore[arg-type]
    train(from_log(TrainingLog([str(log)]), BotSources(), READING, network, TRAINING), folder, device="cpu")
    return ReplyModel.load(folder, device="cpu")


def ask(text: str) -> list[Turn]:
    return [Turn(text, "a")]

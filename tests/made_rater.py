"""A made log with several replies to each utterance, all on its topic, and small raters trained on it."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

from interloq import write
from interloq.learn.gru import Pieces, train_pieces
from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.rate.examples import Examples
from interloq.rate.gru_model import GruRaterJob, RaterModel
from interloq.rate.learning import RaterLogs
from interloq.rate.pairs import RaterPairs, write_examples
from interloq.rate.settings import Batching, Shape
from interloq.records import Pair

TOPICS = ("tea", "rain", "football", "music", "cats", "maths", "bread", "trains")
FILLERS = ("i", "we", "like", "really", "the", "today", "about", "so", "much", "then")
TINY = Shape(embedding=16, hidden=16, layers=2, width=32)
SMALL_BATCHES = Batching(batch=64)
CHOSEN = Examples(dev_share=0.2)
QUICK = Training(epochs=12, patience=12, learning_rate=4e-3)


def said(topic: str, drawn: random.Random) -> str:
    words = [*drawn.choices(FILLERS, k=drawn.randint(2, 5)), topic]
    drawn.shuffle(words)
    return " ".join(words)


def new_triplets() -> tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]]:
    """Triplets whose last reply is on the topic, and the same with a reply on another one."""
    drawn = random.Random(7)  # no text of the log
    triplets, random_triplets = [], []
    for _ in range(100):
        topic, other = drawn.sample(TOPICS, 2)
        utterance, gold = f"{said(topic, drawn)} 999 ?", said(topic, drawn)
        triplets.append((utterance, gold, said(topic, drawn)))
        random_triplets.append((utterance, gold, said(other, drawn)))
    return triplets, random_triplets


@cache
def topic_log(utterances: int = 160, replies: int = 4, seed: int = 0) -> tuple[Pair, ...]:
    """Every utterance has its own number, so none is said twice; some replies are."""
    drawn = random.Random(seed)
    pairs = []
    for number in range(utterances):
        topic = drawn.choice(TOPICS)
        utterance = f"{said(topic, drawn)} {number} ?"
        pairs += [Pair(f"{number}/{i}", utterance, said(topic, drawn), thread=f"{number}") for i in range(replies)]
    return tuple(pairs)


def write_log(path: Path, utterances: int = 160, replies: int = 4) -> Path:
    write(path, topic_log(utterances, replies), kind="pairs")
    return path


def made_examples(folder: Path, utterances: int = 160, replies: int = 4) -> tuple[RaterPairs, Pieces]:
    pairs = topic_log(utterances, replies)
    train_pieces(pairs, folder / "pieces.model", vocabulary=120)
    pieces = Pieces(folder / "pieces.model")
    return write_examples([pairs], folder / "examples", pieces, CHOSEN, source="made"), pieces


def small_rater(folder: Path, *, epochs: int = 1, utterances: int = 40, seed: int = 0) -> RaterModel:
    """A rater in `folder`/rater, trained for a moment: as good as any where only form matters."""
    training = Training(epochs=epochs, learning_rate=QUICK.learning_rate, seed=seed)
    train(rater_job(folder, utterances, training=training), folder / "rater", device="cpu")
    return RaterModel.load(folder / "rater")


def rater_job(folder: Path, utterances: int = 160, *, shape: Shape = TINY, training: Training = QUICK) -> GruRaterJob:
    """With the tokenizer and examples of `made_examples` in `folder`."""
    made_examples(folder, utterances)
    return GruRaterJob(
        logs=RaterLogs(lambda: [topic_log(utterances)], CHOSEN, folder / "examples"),
        source="made",
        tokenizer=folder / "pieces.model",
        settings=shape,
        batching=SMALL_BATCHES,
        training=training,
    )

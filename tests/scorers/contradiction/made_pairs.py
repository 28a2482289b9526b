"""Made pairs that contradict each other by a word, and a scorer trained on them in seconds."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from interloq.learn.job import train
from interloq.learn.settings import LowRank
from interloq.scorers.contradiction.job import ContradictionJob, LabelledPair
from interloq.scorers.contradiction.settings import TRAINING, ContradictionSettings
from interloq.scorers.contradiction.turn_pairs import TurnPair
from tests.made_network import LETTERS, SPECIAL, random_network, save, sizes, word_pieces
from tests.made_relevance import TOPICS

SMALL = ContradictionSettings(longest=12, batch=32)
QUICK = replace(TRAINING, epochs=8, learning_rate=3e-3)


WORDS = ("i", "never", "really", "like", "me", "you", "so", "today", ".", "?", ":", "!", ",")


def tiny_encoder(folder: Path) -> Path:
    """Write an encoder that knows the words of the pairs."""
    pieces = [*TOPICS, *WORDS, *(letter for letter in LETTERS if letter not in WORDS)]
    settings = {"vocab_size": len(SPECIAL) + len(pieces), "max_position_embeddings": 64, "initializer_range": 0.2}
    return save(folder, random_network("bert", seed=0, **settings, **sizes()), word_pieces(pieces))


def statement(topic: str, *, never: bool) -> str:
    """Return a statement about a topic, negated or not."""
    return f"i never like {topic} ." if never else f"i really like {topic} ."


def labelled_pairs(n: int, *, seed: int = 0) -> list[LabelledPair]:
    """Return pairs; a reply with `never` contradicts the same speaker."""
    drawn = random.Random(seed)
    pairs = []
    for i in range(n):
        topic = drawn.choice(TOPICS)
        never, same = drawn.random() < 0.5, drawn.random() < 0.6
        utterance = drawn.choice(("so ?", "today ?", ""))
        pair = TurnPair(statement(topic, never=False), statement(topic, never=never), same, utterance=utterance)
        pairs.append(LabelledPair(pair, same and never, dev=i % 8 == 0))
    return pairs


def small_job(
    folder: Path, *, epochs: int = 1, n: int = 120, low_rank: int = 0, source: str = "made"
) -> ContradictionJob:
    """Return a job on made pairs, with an encoder in the folder."""
    return ContradictionJob(
        encoder=str(tiny_encoder(folder / "encoder")),
        pairs=lambda: labelled_pairs(n),
        settings=SMALL,
        training=replace(QUICK, epochs=epochs),
        low_rank=LowRank(low_rank=low_rank),
        source=source,
    )


def small_contradiction_scorer(folder: Path, *, epochs: int = 1, n: int = 120, low_rank: int = 0) -> Path:
    """Return the folder of a trained scorer."""
    train(small_job(folder, epochs=epochs, n=n, low_rank=low_rank), folder / "contradiction", device="cpu")
    return folder / "contradiction"

"""Made dialogues that keep to a topic, a tiny BERT that knows their words, and scorers trained from it in seconds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from interloq.learn.job import train
from interloq.models.pretrained import Subwords
from interloq.scorers.relevance.examples import Exchange, Exchanges, write_exchanges
from interloq.scorers.relevance.job import RelevanceJob
from interloq.scorers.relevance.settings import TRAINING, RelevanceReading, RelevanceSettings
from tests.made_network import LETTERS, SPECIAL, random_network, save, sizes, word_pieces

TOPICS = ("tea", "rain", "football", "music", "cats", "maths", "bread", "trains")
FILLERS = ("i", "we", "like", "really", "the", "today", "about", "so", "they", "never")
QUICK = replace(TRAINING, epochs=8, learning_rate=3e-3, patience=8)
SMALL = RelevanceSettings(batch=32, context=24, reply=12)


def said(topic: str, drawn: random.Random) -> str:
    words = [*drawn.choices(FILLERS, k=drawn.randint(3, 7)), topic]
    drawn.shuffle(words)
    return " ".join([*words, drawn.choice((".", "?"))])


def talks(n: int, *, turns: int = 4, seed: int = 0) -> list[list[str]]:
    drawn = random.Random(seed)
    return [[said(topic, drawn) for _ in range(turns)] for topic in drawn.choices(TOPICS, k=n)]


def exchanges(found: Sequence[Sequence[str]], *, most: int = 3, origin: int = 0, **more: Any) -> list[Exchange]:
    return [
        Exchange(tuple(turns[max(0, i - most) : i]), turns[i], "\n".join(turns), origin, **more)
        for turns in found
        for i in range(1, len(turns))
    ]


def tiny_encoder(folder: Path, *, seed: int = 0) -> Path:
    """Words are one token, apart from those with an s at their end."""
    words = [word.removesuffix("s") for word in (*TOPICS, *FILLERS)]
    pieces = [*words, "##s", ".", "?", "!", ",", *LETTERS]
    size = len(SPECIAL) + len(pieces)
    settings = {"vocab_size": size, "max_position_embeddings": 64, "initializer_range": 0.2, **sizes()}
    return save(folder, random_network("bert", seed=seed, **settings), word_pieces(pieces))


def stored(folder: Path, found: Sequence[Exchange], *, turns: int = 3, dev: int = 30) -> tuple[Exchanges, Subwords]:
    reading = RelevanceReading(turns=turns, dev=dev)
    subwords = Subwords(tiny_encoder(folder / "encoder"), longest=reading.longest)
    made = write_exchanges(found, folder / "examples", subwords, reading, source="made")
    torch.set_num_threads(1)  # for networks this small, threads do little but wait for each other
    return made, subwords


def small_scorer(folder: Path, *, epochs: int = 1, n: int = 40, settings: RelevanceSettings = SMALL) -> Path:
    """A scorer in `folder`/relevance; after one epoch as good as any where only form matters."""
    stored(folder, exchanges(talks(n)))
    train(scorer_job(folder, settings, epochs=epochs), folder / "relevance", device="cpu")
    return folder / "relevance"


def scorer_job(
    folder: Path, settings: RelevanceSettings = SMALL, *, turns: int = 3, dev: int = 30, **loop: Any
) -> RelevanceJob:
    """With the encoder and the examples that `stored` put into the folder."""
    return RelevanceJob(
        encoder=str(folder / "encoder"),
        examples=folder / "examples",
        reading=RelevanceReading(turns=turns, dev=dev),
        settings=settings,
        training=replace(QUICK, **loop),
        source="made",
    )

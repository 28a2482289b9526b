"""Small reliability networks, trained in seconds on made-up queries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from interloq import create
from interloq.learn.job import train
from interloq.reliability.job import ReliabilityJob
from interloq.reliability.labelled_sets import LabelledSets, make_sets
from interloq.reliability.labels import group_queries, score_replies
from interloq.reliability.settings import TRAINING, ReliabilitySettings
from tests.made_network import SPECIAL, random_network, save, sizes, word_pieces
from tests.reliability.made_queries import FILLERS, TOPICS, rated_samples

SMALL = ReliabilitySettings(sizes="1,2,3", per_size=10, hidden=16, ensemble=3, batch=64, context=24, reply=12)


def topic_encoder(folder: Path, *, seed: int = 0) -> Path:
    """A tiny BERT with random weights that knows the words of the made-up queries."""
    pieces = [*(word for topic in TOPICS for word in topic.split()), *FILLERS, "well", "?", *"0123456789"]
    settings = {"vocab_size": len(SPECIAL) + len(pieces), "max_position_embeddings": 64, "initializer_range": 0.2}
    return save(folder, random_network("bert", seed=seed, **settings, **sizes()), word_pieces(pieces))


def small_sets(settings: ReliabilitySettings = SMALL, *, queries: int = 12, **more: Any) -> LabelledSets:
    return make_sets(score_replies(group_queries(rated_samples(queries, **more)), "bleu_star"), settings)


def small_job(
    folder: Path,
    settings: ReliabilitySettings = SMALL,
    *,
    metric: str = "bleu_star",
    epochs: int = 2,
    queries: int = 12,
) -> ReliabilityJob:
    """With an encoder in `folder`/encoder."""
    return ReliabilityJob(
        samples=lambda: rated_samples(queries),
        metric=create(metric),
        encoder=str(topic_encoder(folder / "encoder")),
        settings=settings,
        training=replace(TRAINING, epochs=epochs),
        source="made",
    )


def small_model(folder: Path, settings: ReliabilitySettings = SMALL, **more: Any) -> Path:
    """A trained network in `folder`/reliability."""
    train(small_job(folder, settings, **more), folder / "reliability", device="cpu")
    return folder / "reliability"

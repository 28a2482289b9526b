"""A small encoder and pairs for BERT-RUBER."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interloq.cli.main import main
from interloq.learn.settings import Training
from interloq.models.encoder import Encoder
from interloq.scorers.bert_ruber.job import BertRuberJob, PairVectors, write_pair_vectors
from interloq.scorers.bert_ruber.settings import BertRuberSettings
from tests.made_ruber import topic_pairs

QUICK = Training(epochs=1, learning_rate=1e-3)


def stored(folder: Path, encoder: Encoder, n: int = 120, **options: Any) -> PairVectors:
    return write_pair_vectors(topic_pairs(n), folder, encoder, "mean", **{"dev": 12, **options})


def job(encoder: str | Path, pairs: int, settings: BertRuberSettings, training: Training = QUICK) -> BertRuberJob:
    return BertRuberJob(pairs=lambda: topic_pairs(pairs), encoder=str(encoder), settings=settings, training=training)


def command(*arguments: str) -> int:
    return main(["train", "bert-ruber", *arguments])

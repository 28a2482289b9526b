"""Tiny BERTs with random weights and a WordPiece vocabulary of made logs, and raters trained from them in seconds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import transformers

from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.models.pretrained import Subwords
from interloq.rate.bert_model import BertRaterJob, BertRaterModel
from interloq.rate.learning import RaterLogs
from interloq.rate.pairs import RaterPairs, write_examples
from interloq.rate.settings import BERT_TRAINING, Batching
from tests.made_network import SPECIAL, random_network, save, sizes
from tests.made_rater import CHOSEN, topic_log

SMALL_BATCHES = Batching(batch=16)
QUICK = replace(BERT_TRAINING, epochs=12, patience=12, learning_rate=2e-3)
LONGEST = 16


def tiny_bert(folder: Path, **options: Any) -> Path:
    """An encoder that reads 64 tokens. Its first weights are wide, as so small a one hardly learns from the usual."""
    folder.mkdir(parents=True, exist_ok=True)
    words = {word for pair in topic_log() for text in (pair.utterance, pair.response) for word in text.split()}
    digits = set("0123456789")
    vocabulary = [*SPECIAL, *sorted(words - digits), *sorted(digits), *(f"##{digit}" for digit in sorted(digits))]
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in vocabulary))
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    settings = {**sizes(), "initializer_range": 0.2, "max_position_embeddings": 64, "vocab_size": len(vocabulary)}
    return save(folder, random_network("bert", **settings | options))


def bert_examples(folder: Path, utterances: int = 160, **options: Any) -> tuple[RaterPairs, Subwords]:
    subwords = Subwords(tiny_bert(folder / "encoder", **options), longest=LONGEST)
    return write_examples([topic_log(utterances)], folder / "examples", subwords, CHOSEN, source="made"), subwords


def small_bert_rater(folder: Path, *, epochs: int = 1, utterances: int = 40, seed: int = 0) -> BertRaterModel:
    """A rater in `folder`/rater, trained for a moment: as good as any where only form matters."""
    training = replace(QUICK, epochs=epochs, seed=seed)
    train(bert_job(folder, utterances, training=training), folder / "rater", device="cpu")
    return BertRaterModel.load(folder / "rater")


def bert_job(
    folder: Path,
    utterances: int = 160,
    *,
    subwords: Subwords | None = None,
    batching: Batching = SMALL_BATCHES,
    training: Training = QUICK,
    **options: Any,
) -> BertRaterJob:
    """With the encoder and examples of `bert_examples` in `folder`, or with another encoder."""
    _, own = bert_examples(folder, utterances, **options)
    return BertRaterJob(
        logs=RaterLogs(lambda: [topic_log(utterances)], CHOSEN, folder / "examples" if subwords is None else None),
        source="made",
        encoder=str((subwords or own).folder),
        longest=(subwords or own).longest,
        settings=batching,
        training=training,
    )

# SPDX-License-Identifier: Apache-2.0
"""A small BERT trained from scratch on logs, for languages without an installed model.

It starts with its own tokenizer and random weights, and is then trained like any network in `job.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import torch
import transformers

from interloq.data.files.durable import atomic_folder
from interloq.errors import count
from interloq.learn.adapt.job import AdaptJob, Base, write_network
from interloq.learn.adapt.settings import Adaptation, SmallEncoder
from interloq.learn.adapt.tokenizer import SPECIAL, train_word_pieces
from interloq.learn.job import Run
from interloq.learn.settings import Training
from interloq.learn.trainable import PairLog
from interloq.records import Pair
from interloq.registry import full_spec

POSITIONS = 512
START = "start"


def from_log(log: PairLog, shape: SmallEncoder, settings: Adaptation, training: Training) -> AdaptJob:
    """Job that trains a small encoder on a log's texts."""
    pairs = log.pairs

    def start(run: Run) -> Base:
        folder = run.work / START
        if not folder.exists():
            size = _start(pairs, folder, shape, settings)
            if size < shape.vocabulary:
                run.report(f"these texts yield a tokenizer of only {count(size, 'piece')}")
        return Base(folder, "nothing", full_spec(shape))

    return AdaptJob(
        pairs=pairs,
        start=start,
        base_id=full_spec(shape),
        settings=replace(settings, objective="mlm"),
        training=training,
        source=log.fingerprint,
    )


def _start(pairs: Callable[[], Iterable[Pair]], folder: Path, shape: SmallEncoder, settings: Adaptation) -> int:
    """Return the folder of a network that has learned nothing; it gets its name when it is whole."""
    with atomic_folder(folder) as part:
        return _write_start(pairs, part, shape, settings)


def _write_start(pairs: Callable[[], Iterable[Pair]], part: Path, shape: SmallEncoder, settings: Adaptation) -> int:
    size = train_word_pieces(pairs, part, vocabulary=shape.vocabulary)
    write_untrained(part, size, shape, settings)
    return size


def write_untrained(folder: Path, pieces: int, shape: SmallEncoder, settings: Adaptation) -> None:
    """Add a network with random weights, drawn from the seed, to a folder with a tokenizer of so many pieces."""
    config = transformers.BertConfig(
        vocab_size=pieces,
        hidden_size=shape.dimensions,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.dimensions,
        max_position_embeddings=max(POSITIONS, 2 * settings.longest + 5),
        pad_token_id=SPECIAL.index("[PAD]"),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        model, pooler = transformers.BertForMaskedLM(config), transformers.BertModel(config).pooler
    # BERT's pooler is not used to predict tokens; it is saved untrained, so that the saved BERT is complete
    write_network(folder, model, {f"bert.pooler.{name}": tensor for name, tensor in pooler.state_dict().items()})

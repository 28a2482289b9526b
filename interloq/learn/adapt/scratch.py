"""A small BERT from nothing but logs, for languages that no installed model reads.

It has a tokenizer of its own, random weights, and then the very training of `adapt.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import transformers

from interloq.data.durable import whole_folder
from interloq.data.progress import Progress, silent
from interloq.learn.adapt.job import Base, Say, learn, write_network
from interloq.learn.adapt.settings import SCRATCH, Adaptation, SmallEncoder
from interloq.learn.adapt.tokenizer import SPECIAL, train_word_pieces
from interloq.learn.settings import Training
from interloq.records import Pair
from interloq.registry import full_spec

POSITIONS = 512
START = "start"


def train_encoder(
    pairs: Callable[[], Iterable[Pair]],
    folder: str | Path,
    shape: SmallEncoder,
    settings: Adaptation,
    training: Training = SCRATCH,
    *,
    source: str = "",
    device: str = "auto",
    progress: Progress = silent,
    say: Say = lambda _: None,
) -> dict[str, Any]:
    """Train a small encoder on the pairs' texts and save it to `folder`. Returns its facts."""
    named = full_spec(shape)
    base = Base(Path(), "nothing", named)

    def start(work: Path) -> Base:
        if not (work / START).exists():
            size = _start(pairs, work / START, shape, settings)
            if size < shape.vocabulary:
                say(f"a tokenizer of {size:,} pieces is all that these texts give")
        return replace(base, folder=work / START)

    return learn(
        pairs,
        folder,
        start,
        replace(settings, objective="mlm"),
        training,
        named=named,
        source=source,
        device=device,
        progress=progress,
        say=say,
    )


def _start(pairs: Callable[[], Iterable[Pair]], folder: Path, shape: SmallEncoder, settings: Adaptation) -> int:
    """The folder of a network that has learned nothing; it gets its name when it is whole."""
    with whole_folder(folder) as part:
        return _write_start(pairs, part, shape, settings)


def _write_start(pairs: Callable[[], Iterable[Pair]], part: Path, shape: SmallEncoder, settings: Adaptation) -> int:
    size = train_word_pieces(pairs, part, vocabulary=shape.vocabulary)
    config = transformers.BertConfig(
        vocab_size=size,
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
    # BERT's pooler takes no part in guessing tokens; it is kept as it starts, so that a loaded BERT lacks nothing
    write_network(part, model, {f"bert.pooler.{name}": tensor for name, tensor in pooler.state_dict().items()})
    return size

"""Small networks with random weights, in the layout of Hugging Face: what all that tests make have in common."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = [chr(ord("a") + i) for i in range(26)]


def sizes(dimensions: int = 32, inner: int = 64, *, layers: int = 2) -> dict[str, Any]:
    """Those of a BERT, and of all that name theirs like it."""
    return {
        "hidden_size": dimensions,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
        "intermediate_size": inner,
    }


@lru_cache(maxsize=4)
def loaded(folder: Path, kind: str) -> tuple[Any, Any]:
    """The tokenizer and the network, of a class of transformers, in a folder that stays as it is."""
    network = getattr(transformers, kind).from_pretrained(folder).eval()
    return transformers.AutoTokenizer.from_pretrained(folder), network


def word_pieces(words: Iterable[str]) -> Any:
    """A BERT's tokenizer: special tokens, and these pieces in their order. One that comes twice has its last place."""
    return transformers.BertTokenizer(vocab={word: i for i, word in enumerate([*SPECIAL, *words])})


def random_network(
    kind: str, *, whole: Any = transformers.AutoModel, seed: int = 0, spread: float = 0.0, **config: Any
) -> Any:
    """`whole` is the class of transformers that adds a head. `spread` makes weights larger than a fresh network's."""
    made = transformers.AutoConfig.for_model(kind, **config)
    torch.manual_seed(seed)
    network = whole.from_config(made)
    if spread:
        with torch.no_grad():
            for parameter in network.parameters():
                parameter += spread * torch.randn_like(parameter)
    return network


def save(folder: Path, network: Any, tokenizer: Any = None) -> Path:
    transformers.logging.disable_progress_bar()
    network.save_pretrained(folder)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    return folder


@dataclass
class WatchedNetwork:
    """Notes the rows of each batch, and runs out of memory for more than `most` rows."""

    most: float = math.inf
    rows: list[int] = field(default_factory=list)


def watch_network(network: Any, monkeypatch: pytest.MonkeyPatch, *, most: float = math.inf) -> WatchedNetwork:
    """Watch the forward pass of a network of transformers, or of one of ours that reads `TokenRows`."""
    watched, forward = WatchedNetwork(most), network.forward

    def watching(*given: Any, **inputs: Any) -> Any:
        name = "input_ids" if "input_ids" in inputs else "attention_mask"
        rows = len(given[0].ids) if given else len(inputs[name])
        if rows > watched.most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        watched.rows.append(rows)
        return forward(*given, **inputs)

    monkeypatch.setattr(network, "forward", watching)
    return watched

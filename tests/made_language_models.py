"""Tiny encoders and language models with random weights, in the layout of Hugging Face."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import transformers

from interloq.learn.adapt.scratch import train_word_pieces
from tests.made_network import random_network, save, sizes
from tests.made_ruber import topic_pairs

SIZES = {
    "bert": sizes(),
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 128},
    "llama": {**sizes(), "max_position_embeddings": 128},
}
SIZES["electra"] = SIZES["bert"]
SIZES["roberta"] = {**SIZES["bert"], "type_vocab_size": 1}
SIZES["albert"] = {**SIZES["bert"], "embedding_size": 16}


def tiny_model(folder: Path, kind: str = "bert", *, head: bool = True, **options: Any) -> Path:
    """A model that knows the words of the made log; `options` change its config."""
    size = topic_tokenizer(folder)
    numbers = {"vocab_size": size, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    whole = transformers.AutoModelForCausalLM if kind in ("gpt2", "llama") else transformers.AutoModelForMaskedLM
    config = {**numbers, **SIZES[kind], **options}
    return save(folder, random_network(kind, whole=whole if head else transformers.AutoModel, **config))


def topic_tokenizer(folder: Path) -> int:
    """[SEP] is also the end of a text and [CLS] its begin, so that language models can use it."""
    size = train_word_pieces(lambda: topic_pairs(400), folder, vocabulary=200)
    change_tokenizer(folder, bos_token="[CLS]", eos_token="[SEP]")  # noqa: S106
    return size


def change_tokenizer(folder: Path, **changes: str | bool | None) -> None:
    """Give settings, such as special tokens, other values; None takes one away."""
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({name: value for name, value in config.items() if value is not None}))

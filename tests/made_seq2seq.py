"""Small models with an encoder and a decoder and random weights, in the layout of Hugging Face."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import transformers

from tests.made_lm import SPREAD, byte_tokenizer
from tests.made_network import random_network, save

ENDS = {"eos_token": "<|endoftext|>"}
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2}
BART = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 128,
    "pad_token_id": 1,
    "bos_token_id": None,
}


def tiny_seq2seq(folder: Path, kind: str = "t5", *, forced: int | None = None) -> Path:
    tokenizer = byte_tokenizer(**ENDS)
    sizes: dict[str, Any] = T5 if kind == "t5" else BART
    numbers = {"vocab_size": len(tokenizer), "decoder_start_token_id": 3, "eos_token_id": 0}
    whole = transformers.AutoModelForSeq2SeqLM
    model = random_network(kind, whole=whole, spread=SPREAD, **numbers, **sizes)
    model.generation_config.forced_bos_token_id = forced
    return save(folder, model, tokenizer)

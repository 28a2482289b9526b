"""Small pretrained models with random weights, in the layout of Hugging Face: language models and BERTs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tokenizers
import transformers

from tests.made_network import LETTERS, random_network, save, sizes, word_pieces

TEXTS = ["how was it ?", "it was a very good day .", "we saw the film there again .", "no idea , sorry ."]
SIZES = sizes(16, 24)
SPREAD = 0.2  # so that contexts and batches would show


def byte_tokenizer(**special: str) -> Any:
    """Pieces of bytes, as GPT-2 has them: any text can be written."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    letters = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=320, special_tokens=["<|endoftext|>"], initial_alphabet=letters, show_progress=False
    )
    made.train_from_iterator(TEXTS, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **special)


def tiny_lm(folder: Path, kind: str = "gpt2", *, seed: int = 0, positions: int = 64, bos: bool = True) -> Path:
    special = {"eos_token": "<|endoftext|>"} | ({"bos_token": "<|endoftext|>"} if bos else {})
    tokenizer = byte_tokenizer(**special)
    config: dict[str, Any] = {"vocab_size": len(tokenizer), "bos_token_id": 0, "eos_token_id": 0}
    if kind == "gpt2":
        config |= {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": positions}
    else:
        config |= {**SIZES, "max_position_embeddings": positions, "tie_word_embeddings": False}
        config |= {"num_key_value_heads": 2, "head_dim": 8}
    whole = transformers.AutoModelForCausalLM
    return save(folder, random_network(kind, whole=whole, seed=seed, spread=SPREAD, **config), tokenizer)


def word_tokenizer(words: Sequence[str] = ()) -> Any:
    """A BERT's: these words and those of the texts above, letters, and one token for all that is unknown."""
    known = sorted({*words, *" ".join(TEXTS).split()})
    return word_pieces(dict.fromkeys([*known, *LETTERS, *(f"##{letter}" for letter in LETTERS)]))


def tiny_bert(folder: Path, *, head: str = "NextSentencePrediction", seed: int = 0, words: Sequence[str] = ()) -> Path:
    tokenizer = word_tokenizer(words)
    whole = getattr(transformers, f"AutoModelFor{head}" if head else "AutoModel")
    config = {"vocab_size": len(tokenizer), "max_position_embeddings": 64, **SIZES}
    return save(folder, random_network("bert", whole=whole, seed=seed, spread=SPREAD, **config), tokenizer)

"""Small pretrained models with random weights, in the layout of Hugging Face: language models and BERTs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers

from interloq import Sample
from tests.made_network import LETTERS, loaded, random_network, save, sizes, word_pieces

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


REPLIES = ["it was a very good day .", "no", "we saw the film there again .", "日本語", "how was it ?", "day"]


def chat(replies: list[str] = REPLIES) -> list[Sample]:
    return [Sample(f"{i:02}", ["not read .", "how was it ?"], reply) for i, reply in enumerate(replies)]


def literal(folder: Path, first: str, second: str) -> float:
    """Label 0 is is-next: the loss with this label is −log P(is-next), as transformers itself says."""
    tokenizer, model = loaded(folder, "BertForNextSentencePrediction")
    with torch.inference_mode():
        loss = model(**tokenizer(first, second, return_tensors="pt"), labels=torch.tensor([0])).loss
    return float(torch.exp(-loss.double()))

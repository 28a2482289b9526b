"""Small pretrained models with random weights, in the layout of Hugging Face: language models and BERTs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers

TEXTS = ["how was it ?", "it was a very good day .", "we saw the film there again .", "no idea , sorry ."]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}


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
    """Random weights, larger than a fresh model's, so that contexts and batches would show."""
    special = {"eos_token": "<|endoftext|>"} | ({"bos_token": "<|endoftext|>"} if bos else {})
    tokenizer = byte_tokenizer(**special)
    sizes: dict[str, Any] = {"vocab_size": len(tokenizer)}
    if kind == "gpt2":
        sizes |= {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": positions}
    else:
        sizes |= {**SIZES, "max_position_embeddings": positions, "tie_word_embeddings": False}
        sizes |= {"num_key_value_heads": 2, "head_dim": 8}
    config = transformers.AutoConfig.for_model(kind, bos_token_id=0, eos_token_id=0, **sizes)
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(config)
    _enlarge(model)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def word_tokenizer(words: Sequence[str] = ()) -> Any:
    """A BERT's: these words and those of the texts above, letters, and one token for all that is unknown."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [chr(ord("a") + i) for i in range(26)]
    known = [*special, *sorted({*words, *" ".join(TEXTS).split()}), *letters]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys([*known, *(f"##{letter}" for letter in letters)]))}
    return transformers.BertTokenizer(vocab=vocabulary)


def tiny_bert(folder: Path, *, head: str = "NextSentencePrediction", seed: int = 0, words: Sequence[str] = ()) -> Path:
    tokenizer = word_tokenizer(words)
    config = transformers.BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **SIZES)
    torch.manual_seed(seed)
    model = getattr(transformers, f"BertFor{head}")(config) if head else transformers.BertModel(config)
    _enlarge(model)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _enlarge(model: torch.nn.Module) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)

# SPDX-License-Identifier: Apache-2.0
"""Write a Llama network from a GGUF file as a model folder in the Hugging Face layout. Needs no torch.

Weights are dequantised to float32, exactly as the file rounds them. The tokenizer is a byte-level BPE that splits
numbers into digits, as in SmolLM2 (`tokenizer.ggml.pre` is `smollm`); other networks and tokenizers are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader, TokenType, dequantize
from safetensors import SafetensorError
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from interloq.data.files.durable import atomic_path
from interloq.data.files.opening import write_json, write_text
from interloq.errors import InputError

KINDS = {"general.architecture": "llama", "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm"}
TENSORS = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
SIZES = {
    "vocab_size": "vocab_size",
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "rope.dimension_count",
    "max_position_embeddings": "context_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "rope_theta": "rope.freq_base",
}
SPECIAL = {"bos": "bos", "eos": "eos", "pad": "padding", "unk": "unknown"}


def write_llama_folder(file: Path, folder: Path) -> None:
    """Write weights, configuration, tokenizer and chat template to an existing folder."""
    reader = GGUFReader(file)
    facts = {name: field.contents() for name, field in reader.fields.items()}
    for name, kind in KINDS.items():
        if facts.get(name) != kind:
            raise InputError(f"its {name} is {facts.get(name)!r}, not {kind!r}", where=str(file))
    special = {name: facts[f"tokenizer.ggml.{named}_token_id"] for name, named in SPECIAL.items()}
    config = {name: facts[f"llama.{named}"] for name, named in SIZES.items()}
    weights = _read_weights(reader, config)
    config |= {f"{name}_token_id": token for name, token in special.items()}
    config |= {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "dtype": "float32"}
    config["tie_word_embeddings"] = "lm_head.weight" not in weights
    tokens = {f"{name}_token": facts["tokenizer.ggml.tokens"][token] for name, token in special.items()}
    with atomic_path(folder / "model.safetensors", SafetensorError) as path:
        save_file(weights, path, metadata={"format": "pt"})
    write_json(folder / "config.json", config)
    write_text(folder / "tokenizer.json", _build_tokenizer(facts).to_str())
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **tokens})
    write_text(folder / "chat_template.jinja", facts["tokenizer.chat_template"])


def _read_weights(reader: GGUFReader, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the weights in float32 under their names in transformers."""
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    weights = {}
    for tensor in reader.tensors:
        *layer, kind, _ = tensor.name.split(".")  # such as blk.0.attn_q.weight, or output.weight
        values = dequantize(tensor.data, tensor.tensor_type)
        if kind in heads:  # the rows of each head alternate between its halves, which transformers stores one by one
            by_head = values.reshape(heads[kind], -1, 2, values.shape[1])
            values = by_head.swapaxes(1, 2).reshape(values.shape)
        place = f"model.layers.{layer[1]}." if layer else ""
        weights[f"{place}{TENSORS[kind]}.weight"] = np.ascontiguousarray(values)
    return weights


def _build_tokenizer(facts: Mapping[str, Any]) -> Tokenizer:
    tokens = facts["tokenizer.ggml.tokens"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    merges = [tuple(pair.split(" ")) for pair in facts["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    by_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), by_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    kinds = zip(tokens, facts["tokenizer.ggml.token_type"], strict=True)
    tokenizer.add_special_tokens([token for token, kind in kinds if kind == TokenType.CONTROL])
    return tokenizer

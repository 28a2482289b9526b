"""Small language models as bots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from interloq.play.bots.hugging_face import HuggingFace
from interloq.records import Turn
from tests.made_lm import byte_tokenizer

CHAT = (
    "{% for m in messages %}{{ '[' + m['role'] + ']' + m['content'] + eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '[assistant]' }}{% endif %}"
)
STRICT = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('user first') }}{% endif %}{% endfor %}" + CHAT
)
DIALOGUES = [
    [Turn("how was it ?", "a")],
    [Turn("it was a very good day .", "b"), Turn("no idea , sorry .", "a")],
    [Turn("日本語 😀", "a"), Turn("\x00\x1b", "b"), Turn("", "a")],
    [Turn("we saw the film", "a"), Turn("there", "b"), Turn("again .", "a"), Turn("x", "b")],
    [Turn("no", "a")] * 3,
]
SEEDS = [3, 2**62, 5, 5, 0]


def add_template(folder: Path, template: str) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)


def tiny_t5(folder: Path) -> Path:
    tokenizer = byte_tokenizer(eos_token="<|endoftext|>", pad_token="<|endoftext|>")  # noqa: S106
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2}
    config = transformers.T5Config(
        vocab_size=len(tokenizer), decoder_start_token_id=0, eos_token_id=0, pad_token_id=0, **sizes
    )
    torch.manual_seed(0)
    model = transformers.T5ForConditionalGeneration(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def hf(folder: Path, **options: Any) -> HuggingFace:
    return HuggingFace(str(folder), **{"max_tokens": 12, "device": "cpu", **options})


def limit_memory(
    monkeypatch: pytest.MonkeyPatch, bot: HuggingFace, is_too_large: Callable[[torch.Tensor], bool]
) -> list[int]:
    """Let large batches run out of memory, and return the sizes of batches, to which later ones are added."""
    network, sizes = bot._writer.network, list[int]()
    generate = network.generate

    def limited(input_ids: torch.Tensor, **options: Any) -> Any:
        sizes.append(len(input_ids))
        if is_too_large(input_ids):
            raise torch.OutOfMemoryError("CUDA out of memory")
        return generate(input_ids=input_ids, **options)

    monkeypatch.setattr(network, "generate", limited)
    monkeypatch.setattr(bot._writer, "size", 2**20)
    return sizes

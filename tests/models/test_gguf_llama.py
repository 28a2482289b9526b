"""A Llama from a GGUF file: the network and the tokenizer that it was written from."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from interloq import InputError
from interloq.models.gguf_llama import write_llama_folder
from tests.made_lm import byte_tokenizer
from tests.made_network import loaded
from tests.models.made_gguf import TEMPLATE, tiny_llama, write_gguf

TEXT = "we saw the film there again ."


@pytest.mark.parametrize(("packed", "tolerance"), [(False, 0.0), (True, 0.1)])
def test_the_network_and_its_tokenizer(tmp_path: Path, packed: bool, tolerance: float) -> None:
    network = tiny_llama()
    folder = tmp_path / "folder"
    folder.mkdir()
    write_llama_folder(write_gguf(tmp_path / "model.gguf", network, packed=packed), folder)
    tokenizer, converted = loaded(folder, "AutoModelForCausalLM")
    ids = tokenizer(TEXT)["input_ids"]
    assert ids == byte_tokenizer()(TEXT)["input_ids"]
    assert tokenizer.decode(ids) == TEXT
    assert tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False) == "user: hi"
    assert (tokenizer.chat_template, tokenizer.eos_token, tokenizer.pad_token_id) == (TEMPLATE, "<|endoftext|>", 0)
    with torch.inference_mode():
        logits, wanted = (model(torch.tensor([ids])).logits for model in (converted, network))
    assert torch.allclose(logits, wanted, rtol=0, atol=tolerance)
    assert torch.equal(logits, wanted) is not packed


def test_each_digit_is_a_token_and_spaces_before_it_stay_together(tmp_path: Path) -> None:
    write_llama_folder(write_gguf(tmp_path / "model.gguf", tiny_llama()), tmp_path)
    tokenizer, _ = loaded(tmp_path, "AutoModelForCausalLM")
    pieces = tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str("at  10:30")
    assert [piece for piece, _ in pieces] == ["at", "ĠĠ", "1", "0", ":", "3", "0"]


def test_another_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tokenizer\.ggml\.pre is 'llama-bpe', not 'smollm'"):
        write_llama_folder(write_gguf(tmp_path / "model.gguf", tiny_llama(), pre="llama-bpe"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]

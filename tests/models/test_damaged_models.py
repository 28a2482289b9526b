"""Folders of models whose files are damaged or make no sense: one line says which folder, and what is wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from interloq.errors import InputError
from interloq.models.cross_encoder import CrossEncoder
from interloq.models.encoder import Encoder
from interloq.models.lm.dialogue_scorer import language_model
from interloq.models.mlm import MaskedLikelihood
from interloq.models.nsp import NextSentence
from interloq.models.pretrained import model_folder
from interloq.play.bots.generate import Writer
from tests.made_lm import tiny_bert, tiny_lm, word_tokenizer

Load = Callable[[str], Any]
LOADS: dict[str, tuple[bool, Load]] = {  # whether it is an encoder, and how it is loaded
    "encoder": (True, lambda folder: Encoder(folder, device="cpu")),
    "masked": (True, lambda folder: MaskedLikelihood.load(folder, device="cpu")),
    "next": (True, lambda folder: NextSentence(folder, device="cpu")),
    "scorer": (True, lambda folder: CrossEncoder.empty(Path(folder), 1)),
    "lm": (False, lambda folder: language_model(folder, device="cpu")),
    "bot": (False, lambda folder: Writer(folder, device="cpu")),
}
CONFIGS: list[dict[str, Any]] = [
    {"num_attention_heads": 0, "n_head": 0},
    {"num_attention_heads": -1, "n_head": -1},
    {"num_attention_heads": 7, "n_head": 7},
    {"num_attention_heads": "4", "n_head": "4"},
    {"num_hidden_layers": 10**9, "n_layer": 10**9},
    {"hidden_size": 10**12, "n_embd": 10**12},
    {"vocab_size": [1]},
    {"vocab_size": 10**15},
    {"model_type": "no such model"},
    {"model_type": 7},
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {True: tiny_bert(folder / "bert", head="PreTraining"), False: tiny_lm(folder / "lm")}


@pytest.mark.parametrize("kind", LOADS)
def test_what_is_whole_is_loaded(made: dict[bool, Path], kind: str) -> None:
    is_encoder, load = LOADS[kind]
    load(str(made[is_encoder]))


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize("kind", LOADS)
def test_a_config_that_makes_no_sense(
    tmp_path: Path, made: dict[bool, Path], kind: str, config: dict[str, Any]
) -> None:
    is_encoder, load = LOADS[kind]
    folder = shutil.copytree(made[is_encoder], tmp_path / "model")
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
    refused(load, folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"a": "\xff"}', b'{"a": ' + b"[" * 99_999])
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
@pytest.mark.parametrize("kind", ["encoder", "lm", "bot"])
def test_files_that_are_damaged(tmp_path: Path, made: dict[bool, Path], kind: str, name: str, content: bytes) -> None:
    is_encoder, load = LOADS[kind]
    folder = shutil.copytree(made[is_encoder], tmp_path / "model")
    assert (folder / name).exists()
    (folder / name).write_bytes(content)
    refused(load, folder)


def test_weights_that_were_cut_off(tmp_path: Path, made: dict[bool, Path]) -> None:
    folder = shutil.copytree(made[True], tmp_path / "model")
    weights = (folder / "model.safetensors").read_bytes()
    for kept in (weights[: len(weights) // 2], b"\xff" * 7 + b"\x7f" + weights[8:]):
        (folder / "model.safetensors").write_bytes(kept)
        refused(LOADS["encoder"][1], folder)


@pytest.mark.parametrize("kind", ["encoder", "masked", "next", "lm", "bot"])
def test_weights_that_are_not_numbers(tmp_path: Path, made: dict[bool, Path], kind: str) -> None:
    is_encoder, load = LOADS[kind]
    folder = shutil.copytree(made[is_encoder], tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    for name, tensor in weights.items():
        weights[name] = torch.full_like(tensor, torch.nan)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    refused(load, folder, "contain NaN or infinity")


@pytest.mark.parametrize("kind", ["encoder", "masked", "next", "lm"])
def test_a_tokenizer_of_another_model(tmp_path: Path, made: dict[bool, Path], kind: str) -> None:
    is_encoder, load = LOADS[kind]
    folder = shutil.copytree(made[is_encoder], tmp_path / "model")
    for path in folder.glob("*token*"):
        path.unlink()
    word_tokenizer([f"word{i}" for i in range(400)]).save_pretrained(folder)
    refused(load, folder, "the tokenizer has .* tokens and the network .*; copy the complete folder of one model")


@pytest.mark.parametrize(
    ("kind", "head", "message"),
    [
        ("masked", "", r"has no weights for 'cls\.predictions.*interloq train adapt"),
        ("masked", "NextSentencePrediction", r"has no weights for 'cls\.predictions.*interloq train adapt"),
        ("masked", None, r"this model cannot be loaded for MaskedLM; .*interloq train adapt"),
        ("next", "", "has no weights for .*interloq train relevance"),
        ("next", "MaskedLM", "has no weights for .*interloq train relevance"),
        ("next", None, "this model cannot be loaded for NextSentencePrediction; .*train relevance"),
        ("lm", "", r"has no weights for 'cls\.predictions"),
        ("lm", "MaskedLM", "reads in both directions; use a causal language model"),
    ],
)
def test_a_model_with_another_head(tmp_path: Path, kind: str, head: str | None, message: str) -> None:
    """None: a language model."""
    folder = tiny_lm(tmp_path / "lm") if head is None else tiny_bert(tmp_path / "bert", head=head)
    refused(LOADS[kind][1], folder, message)


def test_a_folder_of_pickles_and_a_name_that_nobody_installed(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(InputError, match="pickles are not loaded"):
        model_folder(tmp_path)
    with pytest.raises(InputError, match="no model folder or installed model package"):
        model_folder("no-such-model")


@pytest.mark.parametrize("name", ["./typo", "../typo", "/no/such/folder", "org/name", "~/model"])
def test_a_path_that_does_not_exist_is_not_looked_for_among_packages(name: str) -> None:
    with pytest.raises(InputError, match=rf"^the model folder '{name}' does not exist; check the path"):
        model_folder(name)


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(InputError, match="is not a folder"):
        model_folder(tmp_path / "model.safetensors")


def refused(load: Load, folder: Path, message: str | None = None) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load(str(folder))
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)

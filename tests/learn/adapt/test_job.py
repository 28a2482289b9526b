"""Pre-training on logs: masks, losses, what is saved, what goes wrong."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from interloq.errors import InputError
from interloq.learn.adapt import job as adapt
from interloq.learn.adapt.settings import Adaptation
from interloq.learn.adapt.task import dev_loss
from interloq.models.cross_encoder import CrossEncoder
from interloq.models.encoder import Encoder
from tests.made_adapt import CPU, QUICK, SMALL, adapted, task_of
from tests.made_language_models import change_tokenizer, tiny_model


@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama"])
def test_it_learns_and_saves_what_transformers_loads(tmp_path: Path, kind: str) -> None:
    said: list[str] = []
    facts = adapted(tmp_path / "out", tiny_model(tmp_path / kind, kind), report=said.append, source="log")
    before, after = facts["before"], facts["after"]
    assert after["dev_loss"] < 0.8 * before["dev_loss"]
    assert before["dev_loss"] == pytest.approx(math.log(200), rel=0.3), "nothing is known at first"
    assert after["perplexity"] == pytest.approx(math.exp(after["dev_loss"]))
    assert facts["objective"] == ("mlm" if kind == "bert" else "lm")
    assert facts["source"] == "log"
    assert not (tmp_path / "out" / "work").exists()
    whole = transformers.AutoModelForMaskedLM if kind == "bert" else transformers.AutoModelForCausalLM
    for loader in (transformers.AutoModel, whole):
        _, info = loader.from_pretrained(tmp_path / "out", output_loading_info=True)
        lacking = [name for name in info["missing_keys"] if "pooler" not in name]  # a bare BERT-MLM never had one
        assert lacking == []
    again = task_of(tmp_path / "out", tmp_path / "again")
    assert dev_loss(again, CPU, amp=False) == pytest.approx(after["dev_loss"], rel=1e-5)
    assert "270 pairs for training, 30 for dev" in said
    assert json.loads((tmp_path / "out" / "learning_curve.json").read_text())["epochs"][0]["epoch"] == 1


def test_a_model_without_a_head_gets_one_and_keeps_its_pooler(tmp_path: Path) -> None:
    folder, said = tiny_model(tmp_path / "bert", head=False), list[str]()
    facts = adapted(tmp_path / "out", folder, report=said.append)
    assert facts["head"] == "new"
    assert any("a new one is trained" in line for line in said)
    model, info = transformers.AutoModel.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not info["missing_keys"]
    first = transformers.AutoModel.from_pretrained(folder)
    assert torch.equal(model.pooler.dense.weight, first.pooler.dense.weight)
    assert not torch.equal(model.encoder.layer[0].output.dense.weight, first.encoder.layer[0].output.dense.weight)
    vectors = Encoder(str(tmp_path / "out"), device="cpu").sentences(["we like tea", "the trains today"])
    assert np.abs(vectors[0] - vectors[1]).max() > 0.01
    CrossEncoder.pretrained(tmp_path / "out", 1)
    once_more = adapted(tmp_path / "more", tmp_path / "out", training=replace(QUICK, epochs=1))
    assert once_more["head"] == "of the model"
    assert once_more["before"]["dev_loss"] == pytest.approx(facts["after"]["dev_loss"], rel=1e-5)
    assert once_more["base"]["fingerprint"] == facts["weights"]


def test_weights_of_another_model_in_its_folder_are_refused(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "bert")
    adapted(tmp_path / "out", folder)
    with pytest.raises(InputError, match="contains a job with another model, other settings or other pairs"):
        adapted(tmp_path / "out", folder, replace(SMALL, mask=0.3))
    shutil.copyfile(folder / "model.safetensors", tmp_path / "out" / "model.safetensors")
    with pytest.raises(InputError, match="does not belong to"):
        adapted(tmp_path / "out", folder)


def test_models_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    def refused(folder: Path, says: str, settings: Adaptation = SMALL) -> None:
        with pytest.raises(InputError, match=says):
            adapted(tmp_path / "out", folder, settings)
        assert not (tmp_path / "out" / "model.safetensors").exists()

    (tmp_path / "bare").mkdir()
    save_file({"weight": torch.zeros(1)}, tmp_path / "bare" / "model.safetensors")
    refused(tmp_path / "bare", "cannot load a model")
    bert = tiny_model(tmp_path / "bert")
    weights = load_file(bert / "model.safetensors")
    save_file(
        {name: t for name, t in weights.items() if "layer.1." not in name}, bert / "model.safetensors", {"format": "pt"}
    )
    refused(bert, "16 of the network.s weights are missing, .bert.encoder.layer.1")
    refused(tiny_model(tmp_path / "gpt", "gpt2"), "cannot be trained with mlm", replace(SMALL, objective="mlm"))
    change_tokenizer(tmp_path / "gpt", eos_token=None)
    refused(tmp_path / "gpt", "the tokenizer has no eos token")
    small = tiny_model(tmp_path / "small", vocab_size=10)
    refused(small, "the tokenizer has .* tokens and the network 10")
    change_tokenizer(small, mask_token=None)
    refused(small, "the tokenizer has no mask token")


def test_a_full_disk_leaves_no_half_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_model(tmp_path / "bert")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(adapt, "copy_tokenizer", full)
        with pytest.raises(InputError, match=r"cannot write .*: No space left on device; free some space"):
            adapted(tmp_path / "out", folder)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["work"]
    facts = adapted(tmp_path / "out", folder)
    assert facts["weights"] == adapted(tmp_path / "whole", folder)["weights"]


def test_a_stop_between_two_files_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, out, move = tiny_model(tmp_path / "bert"), tmp_path / "out", Path.replace

    def stopped(self: Path, target: Path) -> Path:
        if target == out / "adapted.json":
            raise KeyboardInterrupt
        return move(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stopped)
        with pytest.raises(KeyboardInterrupt):
            adapted(out, folder)
    assert (out / "model.safetensors").exists()
    assert not (out / "adapted.json").exists()
    with pytest.raises(InputError, match="contains a job with another model"):
        adapted(out, folder, source="another log")
    facts = adapted(out, folder)
    assert facts["weights"] == adapted(tmp_path / "whole", folder)["weights"]
    assert not (out / "work").exists()

"""Losses compared with those of transformers row by row, and folders of trained models."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from interloq.errors import InputError
from interloq.learn.job import Run
from interloq.models.processes import Processes
from interloq.play.bots.generate import Writer
from interloq.play.causal.job import CausalTask, arrange_rows
from interloq.play.causal.model import CausalNetwork, has_updates
from tests.made_lm import tiny_lm
from tests.play.made_causal import make_job, trained


def task_of(folder: Path, model: Path, **options: Any) -> CausalTask:
    job, device = make_job(folder, model, **options), torch.device("cpu")
    run = Run("job", folder / "work", Processes(device), "cpu", lambda *_: None, lambda _: None)  # type: ignore[arg-type]
    job._read(lambda _: None).save(run.work)
    return job.task(run)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
@pytest.mark.parametrize("speaks", [False, True])
def test_losses_are_those_of_transformers(tmp_path: Path, kind: str, *, speaks: bool) -> None:
    """Of each row alone, with the speaker's vector between context and reply; padding changes nothing."""
    task = task_of(tmp_path, tiny_lm(tmp_path / kind, kind), speaker_token=speaks)
    network, rows = task.network.eval(), task.rows
    which = torch.arange(0, 12).numpy()
    speakers = rows.users[which].astype("int64")
    losses = network.losses(arrange_rows(rows, which, speakers, speaks=speaks)).detach()
    expected = []
    embed = network.model.get_input_embeddings()
    for i, n in enumerate(rows.replies[which].tolist()):
        row = torch.tensor(rows.texts[i].tolist())
        before, reply = row[:-n], row[-n:]
        vectors = [embed(before), embed(reply)]
        if network.speakers is not None:
            vectors.insert(1, network.speakers.weight[speakers[i]][None])
        logits = network.model(inputs_embeds=torch.cat(vectors)[None]).logits[0, -n - 1 : -1]
        expected.append(torch.nn.functional.cross_entropy(logits, reply, reduction="none").detach())
    torch.testing.assert_close(losses, torch.cat(expected), atol=1e-4, rtol=0)


def test_speakers_start_alike_and_only_they_and_updates_learn(tmp_path: Path) -> None:
    network = task_of(tmp_path, tiny_lm(tmp_path / "lm"), speaker_token=True, low_rank=2).network
    learned = {name for name, parameter in network.named_parameters() if parameter.requires_grad}
    assert "speakers.weight" in learned
    assert all("parametrizations" in name for name in learned - {"speakers.weight"})
    assert isinstance(network, CausalNetwork)
    assert network.speakers is not None
    assert network.speakers.weight.std(0).mean() < network.model.get_input_embeddings().weight.std()


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_transformers_loads_a_trained_folder(tmp_path: Path, kind: str) -> None:
    folder, _ = trained(tmp_path, tiny_lm(tmp_path / kind, kind), speaker_token=True)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    own = tokenizer.convert_tokens_to_ids(["<|user|>", "<|user:ann|>", "<|user:bob|>"])
    assert len(set(own)) == 3
    assert model.get_input_embeddings().num_embeddings == len(tokenizer)
    assert model.generation_config.suppress_tokens == tokenizer.convert_tokens_to_ids(
        ["<|user|>", "<|user:ann|>", "<|user:bob|>", "<|user:cat|>"]
    )
    assert not has_updates(folder)
    assert (
        load_file(folder / "model.safetensors")[
            "model.norm.weight" if kind == "llama" else "transformer.wte.weight"
        ].dtype
        == torch.float16
    )


def test_updates_are_added_to_the_model_they_belong_to(tmp_path: Path) -> None:
    """The folder is small, can be moved with its base, and refuses another base."""
    base = tiny_lm(tmp_path / "lm", "llama")
    folder, facts = trained(tmp_path, base, low_rank=2, speaker_token=True)
    assert has_updates(folder)
    stored = load_file(folder / "model.safetensors")
    assert "speakers.weight" in stored
    assert sum(tensor.numel() for tensor in stored.values()) < facts["weights_count"] / 2
    writer = Writer(str(folder), device="cpu")
    first = writer.fingerprints()
    expected = writer.network.state_dict()
    plain = transformers.AutoModelForCausalLM.from_pretrained(base).state_dict()
    name = "model.layers.0.self_attn.q_proj.weight"
    change = 2.0 * (
        stored[name.replace("model.", "encoder.", 1) + ".b"].float()
        @ stored[name.replace("model.", "encoder.", 1) + ".a"].float()
    )
    torch.testing.assert_close(expected[name], plain[name] + change, atol=1e-5, rtol=0)
    base.rename(folder / "base")
    assert Writer(str(folder), device="cpu").fingerprints() == first
    shutil.rmtree(folder / "base")
    tiny_lm(folder / "base", "llama", seed=5)
    with pytest.raises(InputError, match="the updates belong to another version of"):
        Writer(str(folder), device="cpu")


def test_a_damaged_folder_is_refused(tmp_path: Path) -> None:
    folder, _ = trained(tmp_path, tiny_lm(tmp_path / "lm"), low_rank=2)
    tensors = load_file(folder / "model.safetensors")
    save_file({name: tensor + 1 for name, tensor in tensors.items()}, folder / "model.safetensors")
    with pytest.raises(InputError, match=r"does not belong to model\.json"):
        Writer(str(folder), device="cpu")

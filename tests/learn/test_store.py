"""A model's folder: what goes in comes out, and what does not belong together is refused with a hint."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import torch
from safetensors.torch import save_file

from interloq.errors import InputError
from interloq.learn import store
from interloq.learn.store import (
    FACTS,
    WEIGHTS,
    check_counts,
    check_temperature,
    load_model,
    restore_network,
    save_model,
)
from interloq.signature import file_fingerprint

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b.c": torch.tensor([True, False]), "n": torch.tensor(7)}


def saved(folder: Path, tensors: dict[str, torch.Tensor] | None = None, **facts: Any) -> Path:
    save_model(folder, TENSORS if tensors is None else tensors, {"kind": "cat", "config": {"size": 3}, **facts})
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def edited(folder: Path, **facts: Any) -> None:
    path = folder / FACTS
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | facts))


def test_round_trip(tmp_path: Path) -> None:
    turned = torch.arange(6.0).reshape(2, 3).T  # not contiguous
    facts, tensors = load_model(saved(tmp_path / "new" / "model", {**TENSORS, "t": turned}), kind="cat")
    assert facts["config"] == {"size": 3}
    assert facts["weights"] == file_fingerprint(tmp_path / "new" / "model" / WEIGHTS)
    assert tensors.keys() == {*TENSORS, "t"}
    assert all(torch.equal(tensors[name], tensor) for name, tensor in {**TENSORS, "t": turned}.items())
    assert {path.name for path in (tmp_path / "new" / "model").iterdir()} == {WEIGHTS, FACTS}
    assert (tmp_path / "new" / "model" / WEIGHTS).stat().st_mode & 0o044  # others may read


def test_the_same_model_has_the_same_bytes(tmp_path: Path) -> None:
    assert content(saved(tmp_path / "a")) == content(saved(tmp_path / "b"))


def test_another_kind_and_another_form_are_refused(tmp_path: Path) -> None:
    saved(tmp_path)
    with pytest.raises(InputError, match="the folder contains a 'cat', not a 'dog'; use a dog"):
        load_model(tmp_path, kind="dog")
    edited(tmp_path, schema=99)
    with pytest.raises(InputError, match="saved in format 99, this version reads 1; train it again"):
        load_model(tmp_path, kind="cat")


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    saved(tmp_path / "a")
    other = saved(tmp_path / "b", {"a": torch.zeros(2, 3)})
    (tmp_path / "a" / WEIGHTS).write_bytes((other / WEIGHTS).read_bytes())
    with pytest.raises(InputError, match=r"does not belong to model\.json; copy the complete folder"):
        load_model(tmp_path / "a", kind="cat")
    (tmp_path / "a" / WEIGHTS).unlink()
    with pytest.raises(InputError, match="is missing or"):
        load_model(tmp_path / "a", kind="cat")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pth", "last.ckpt"])
def test_pickles_are_not_loaded(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x80\x04")
    with pytest.raises(InputError, match=f"only {name}, and pickles are not loaded; use the folder of a cat"):
        load_model(tmp_path, kind="cat")


@pytest.mark.parametrize(
    ("name", "seen"), [(".", r"no model in the folder: no model\.json"), ("none", "no such folder")]
)
def test_a_folder_without_a_model(tmp_path: Path, name: str, seen: str) -> None:
    with pytest.raises(InputError, match=f"{seen}; use the folder of a cat"):
        load_model(tmp_path / name, kind="cat")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_numbers_are_refused(tmp_path: Path, value: float) -> None:
    saved(tmp_path, {"fine": torch.zeros(2), "broken": torch.tensor([1.0, value])})
    with pytest.raises(InputError, match="weights 'broken' contain NaN or infinity; train it again"):
        load_model(tmp_path, kind="cat")


@pytest.mark.parametrize("known", [True, False])
def test_a_truncated_file_is_refused(tmp_path: Path, known: bool) -> None:
    path = saved(tmp_path) / WEIGHTS
    path.write_bytes(path.read_bytes()[:-3])
    if known:  # even where the facts were written after it was cut
        edited(tmp_path, weights=file_fingerprint(path))
    with pytest.raises(InputError, match="cannot be read as safetensors" if known else "does not belong to"):
        load_model(tmp_path, kind="cat")


def test_damaged_facts_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path) / FACTS
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InputError, match=r"model\.json: not valid JSON .*; copy the folder again"):
        load_model(tmp_path, kind="cat")


# ---- a save that fails -----------------------------------------------------------------------------------------------


def full(*_: Any) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("part", ["weights", "facts"])
def test_a_save_that_fails_leaves_the_old_model_whole(
    tmp_path: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_half(tensors: Any, path: Path) -> None:
        save_file(tensors, path)
        full()

    before = content(saved(tmp_path))
    with monkeypatch.context() as patch:
        name, failing = ("save_file", write_half) if part == "weights" else ("json_bytes", full)
        patch.setattr(store, name, failing)
        with pytest.raises((InputError, OSError), match="No space left on device"):
            saved(tmp_path, {"a": torch.zeros(1)})
        with pytest.raises((InputError, OSError), match="No space left on device"):
            saved(tmp_path / "new")
    assert not (tmp_path / "new" / FACTS).exists()
    shutil.rmtree(tmp_path / "new")
    assert content(tmp_path) == before
    assert torch.equal(load_model(tmp_path, kind="cat")[1]["a"], TENSORS["a"])


# ---- weights into a network ------------------------------------------------------------------------------------------


def test_weights_go_into_a_network_of_their_own_shape_only(tmp_path: Path) -> None:
    own = {name: torch.randn_like(tensor) for name, tensor in torch.nn.Linear(2, 3).state_dict().items()}
    network = restore_network(lambda: torch.nn.Linear(2, 3), own, tmp_path)
    assert all(torch.equal(network.state_dict()[name], tensor) for name, tensor in own.items())
    for wrong, said in (
        ({**own, "weight": torch.zeros(2, 2)}, r"'weight' have shape \(2, 2\), the network has \(3, 2\)"),
        ({"weight": own["weight"]}, r"'bias' have shape None, the network has \(3,\)"),
        ({**own, "more": torch.zeros(1)}, r"'more' have shape \(1,\), the network has None"),
    ):
        with pytest.raises(InputError, match=said):
            restore_network(lambda: torch.nn.Linear(2, 3), wrong, tmp_path)


def test_settings_that_ask_for_an_absurd_size_take_no_memory(tmp_path: Path) -> None:
    own = dict(torch.nn.Linear(2, 3).state_dict())
    with pytest.raises(InputError, match=r"the network has \(1000000, 1000000\)"):
        restore_network(
            lambda: torch.nn.Linear(10**6, 10**6), {"weight": own["weight"], "bias": torch.zeros(10**6)}, tmp_path
        )
    with pytest.raises(InputError, match=r"the saved files are damaged: .*-1"):
        restore_network(lambda: torch.nn.Linear(-1, 3), own, tmp_path)


@pytest.mark.parametrize("value", [0, -1, 1.5, "8", None, [1], {}])
def test_counts_are_whole_numbers_from_1_on(value: object) -> None:
    check_counts({"longest": 1}, "longest")
    with pytest.raises(ValueError, match="'longest' is "):
        check_counts({"longest": value}, "longest")


@pytest.mark.parametrize("value", [0, -1.0, 5e-324, 1e308, "1", None])
def test_temperatures_are_those_of_a_calibration(value: object) -> None:
    check_temperature({"temperature": 1.2})
    with pytest.raises(ValueError, match="the temperature is "):
        check_temperature({"temperature": value})

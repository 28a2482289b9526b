# SPDX-License-Identifier: Apache-2.0
"""Save and load trained networks: a folder with weights (safetensors) and facts (JSON), never a pickle.

The facts include the weights' fingerprint, so files from different models are refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from interloq.data.files.durable import atomic_file, atomic_path
from interloq.data.files.opening import json_bytes, read_json, reading_saved
from interloq.data.files.opening import write_json as write_json
from interloq.errors import InputError, short_repr
from interloq.learn.ready import suggest_packaged
from interloq.signature import file_fingerprint

SCHEMA = 1
MOST = 2**26  # of anything that is counted: more than the words of any vocabulary
WEIGHTS, FACTS = "model.safetensors", "model.json"


def save_model(folder: str | Path, tensors: Mapping[str, torch.Tensor], facts: Mapping[str, Any]) -> None:
    """Save a model. Both files are complete before either is renamed: if saving fails, the old model is unchanged."""
    folder = Path(folder)
    with atomic_file(folder / FACTS) as file, atomic_path(folder / WEIGHTS, SafetensorError) as weights:
        save_file(_portable(tensors), weights)
        file.write(json_bytes({"schema": SCHEMA, **facts, "weights": file_fingerprint(weights)}))
        file.flush()
        os.fsync(file.fileno())  # from here on a full disk cannot leave just one of them


def load_model(folder: str | Path, *, kind: str) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Return facts and weights of a model of this kind."""
    folder = Path(folder)
    facts = read_facts(folder, kind=kind)
    check_weights_file(folder, facts)
    tensors = read_tensors(folder / WEIGHTS)
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise InputError(f"weights {name!r} contain NaN or infinity", hint="train it again", where=str(folder))
    return facts, tensors


def check_weights_file(folder: Path, facts: Mapping[str, Any], facts_file: str = FACTS) -> None:
    """Refuse a folder whose weights are missing or differ from the ones its facts name."""
    if not (folder / WEIGHTS).exists() or file_fingerprint(folder / WEIGHTS) != facts.get("weights"):
        raise InputError(
            f"{WEIGHTS} is missing or does not belong to {facts_file}",
            hint="copy the complete folder, or train it again",
            where=str(folder),
        )


def read_facts(folder: str | Path, *, kind: str) -> dict[str, Any]:
    """Return facts saved with a model of this kind."""
    folder = Path(folder)
    try:
        exists = (folder / FACTS).is_file()
    except OSError as error:  # such as a name that is too long, which may come from a file
        raise InputError(f"cannot read the folder {str(folder)!r:.80}: {error.strerror}") from error
    if not exists:
        pickled = sorted(path.name for path in folder.glob("*") if path.suffix in (".bin", ".pt", ".pth", ".ckpt"))
        hint = f"use the folder of a {kind} model"
        seen = f"no model in the folder: no {FACTS}"
        if not folder.exists():
            seen, hint = "no such folder", hint + suggest_packaged(folder, kind)
        elif pickled:
            seen = f"no model in the folder: only {pickled[0]}, and pickles are not loaded"
        raise InputError(seen, hint=hint, where=str(folder))
    facts = read_json(folder / FACTS, hint="copy the folder again")
    if facts.get("kind") != kind:
        raise InputError(
            f"the folder contains a {facts.get('kind')!r}, not a {kind!r}", hint=f"use a {kind}", where=str(folder)
        )
    if facts.get("schema") != SCHEMA:
        raise InputError(
            f"the model was saved in format {facts.get('schema')}, this version reads {SCHEMA}",
            hint="train it again, or use the version it was saved with",
            where=str(folder),
        )
    return facts


def foreign(what: str, folder: str | Path, owner: str) -> InputError:
    """Return the error for a part of a folder that does not belong to the model in it."""
    return InputError(
        f"{what} is missing or not the one the {owner} was trained with",
        hint="copy the complete folder, or train it again",
        where=str(folder),
    )


def check_temperature(facts: Mapping[str, Any]) -> None:
    """Check the temperature that a model's logits are divided by."""
    if not (isinstance(facts["temperature"], int | float) and 1e-6 < facts["temperature"] < 1e6):
        raise ValueError(f"the temperature is {short_repr(facts['temperature'])}")


def check_counts(config: Mapping[str, Any], *names: str, least: int = 1, most: int = MOST) -> None:
    """Check settings that are counts: whole numbers from `least` to `most`."""
    for name in names:
        if type(config[name]) is not int or not least <= config[name] <= most:
            raise ValueError(f"{name!r} is {short_repr(config[name])}, not a number from {least} to {most:,}")


def check_texts(values: Mapping[str, Any], *names: str) -> None:
    """Check facts that are texts."""
    for name in names:
        if not isinstance(values[name], str):
            raise ValueError(f"{name!r} is {short_repr(values[name])}, not a text")


def restore_network(
    make: Callable[[], torch.nn.Module], tensors: Mapping[str, torch.Tensor], where: str | Path
) -> torch.nn.Module:
    """Return the network made by `make`, with these weights.

    Shapes are checked first, on the meta device: settings with wrong sizes allocate no memory.
    """
    with reading_saved(where):
        with torch.device("meta"):
            check_shapes(make().state_dict(), tensors, where)
        network = make()
        network.load_state_dict(dict(tensors))
    return network


def check_shapes(own: Mapping[str, torch.Tensor], tensors: Mapping[str, torch.Tensor], where: str | Path) -> None:
    """Refuse weights whose names or shapes differ from the network's."""
    for name in sorted(own.keys() | tensors.keys()):
        seen = [tuple(part[name].shape) if name in part else None for part in (tensors, own)]
        if seen[0] != seen[1]:
            raise InputError(
                f"weights {name!r} have shape {seen[0]}, the network has {seen[1]}",
                hint="the weights are of another model: copy its complete folder, or train it again",
                where=str(where),
            )


def write_tensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write tensors as safetensors, completely or not at all."""
    with atomic_path(path, SafetensorError) as part:
        save_file(_portable(tensors), part)


def _portable(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().to("cpu").contiguous() for name, tensor in tensors.items()}


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Read the tensors of a safetensors file; a damaged file is refused."""
    try:
        tensors: dict[str, torch.Tensor] = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"cannot be read as safetensors: {error}", hint="copy it again", where=str(path)) from error
    return tensors

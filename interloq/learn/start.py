# SPDX-License-Identifier: Apache-2.0
"""Networks from which the training of a cross-encoder can start: a pretrained encoder, or an already trained scorer.

A scorer is a folder with `model.json`. A scorer that was trained with low-rank updates stores only the updates and
names the encoder they belong to, its base. The base is read from the scorer's subfolder `base` if there is one,
otherwise from where it was during training; its weights and configuration must not have changed since. `ready` and
`ready-large` are the scorers that come with this package; write `./ready` for a folder of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from interloq.data.files.durable import write_atomically
from interloq.data.files.opening import read_json, reading_saved
from interloq.errors import InputError, MissingDependencyError
from interloq.learn.low_rank import attach_stored, merge
from interloq.learn.ready import (
    MODELS,
    PACKAGED,
    READY,
    READY_LARGE,
    find_hub_encoder,
    packaged_name,
    ready_folder,
)
from interloq.learn.settings import LowRank
from interloq.learn.store import FACTS, load_model, restore_network
from interloq.models.cross_encoder import CONFIG, CrossEncoder
from interloq.models.pretrained import Subwords, model_folder, weights_fingerprint
from interloq.models.smollm2 import PACKAGE, SMOLLM2
from interloq.registry import full_spec
from interloq.signature import file_fingerprint, fingerprint

BASE = "base"  # subfolder of a scorer for an encoder that has moved
SCORERS = ("relevance", "valid", "bert_rater")
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Start:
    """A network to start from: an encoder, or a trained scorer."""

    name: str
    folder: Path

    @classmethod
    def of(cls, name: str | Path, *, download: bool = True) -> Start:
        """Find a network by the name of a folder, of an installed package with a model, or of a hub repository.

        `download` is False for a name that comes from a file, as in `model_folder`.
        """
        if str(name) in PACKAGED:
            return cls(str(name), ready_folder(str(name)))
        return cls(str(name), model_folder(name, download=download))

    @cached_property
    def scorer(self) -> Facts | None:
        """The facts of a trained scorer; None for an encoder."""
        if not (self.folder / FACTS).is_file():
            return None
        facts = read_json(self.folder / FACTS, hint="copy the folder again")
        if facts.get("kind") not in SCORERS:
            raise InputError(
                f"the folder contains a {facts.get('kind')!r}",
                hint="name an encoder or a scorer",
                where=str(self.folder),
            )
        return facts

    @cached_property
    def files(self) -> Path:
        """The folder with the configuration and the tokenizer."""
        return files_of(self.folder, self.scorer or {})

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the weights, independent of their location."""
        if self.scorer is None:
            return weights_fingerprint(self.folder)
        with reading_saved(self.folder):
            return weights_of(self.scorer)

    def network(self, outputs: int, *, seed: int, trainable: bool = True) -> CrossEncoder:
        """Return the network with a new head; a scorer keeps its head if it has this number of outputs."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            if self.scorer is None:
                return CrossEncoder.pretrained(self.folder, outputs, trainable=trainable)
            facts, tensors = load_model(self.folder, kind=self.scorer["kind"])
            with reading_saved(self.folder):
                trained_outputs = len(tensors["head.weight"])
            network = load_trained_network(self.folder, facts, tensors, outputs=trained_outputs, trainable=trainable)
            if trained_outputs != outputs:
                return CrossEncoder(network.encoder, outputs)
            return network

    def describe(self) -> dict[str, str]:
        """Return facts about the network, stored with low-rank updates to it."""
        place = self.name
        if place not in PACKAGED and Path(place).is_dir():
            place = str(Path(place).resolve())
        config = file_fingerprint(self.files / CONFIG)
        return {"name": place, "version": _version(place), "weights": self.fingerprint, "config": config}


def low_rank_facts(settings: LowRank, start: Start) -> dict[str, Any]:
    """Return facts about a scorer's updates and their base; empty if all its weights are stored."""
    if not settings.low_rank:
        return {}
    return {"low_rank": asdict(settings), "base": start.describe()}


def keep_files(folder: Path, subwords: Subwords, settings: LowRank) -> None:
    """Copy tokenizer and configuration to a scorer's folder; a scorer with updates uses its base's files."""
    if not settings.low_rank:
        subwords.save(folder)
        write_atomically(folder / CONFIG, (subwords.folder / CONFIG).read_bytes())


def weights_of(facts: Facts) -> str:
    """Return the fingerprint of a scorer's weights: its own, or its updates with their scale and base."""
    if "base" not in facts:
        return str(facts["weights"])
    return fingerprint(str(facts["weights"]), str(facts["base"]["weights"]), full_spec(_settings(facts)))


def files_of(folder: Path, facts: Facts) -> Path:
    """Return the folder with the configuration and the tokenizer of a scorer: its own, or its base's."""
    base = _base(folder, facts)
    if base is None or (folder / CONFIG).is_file():
        return folder
    return base.files


def load_trained_network(
    folder: Path,
    facts: Facts,
    tensors: Mapping[str, torch.Tensor],
    *,
    outputs: int,
    merged: bool = True,
    trainable: bool = True,
) -> CrossEncoder:
    """Return the network of a trained scorer, from its own weights or from its base and the updates.

    If `merged` is False, the caller must add the updates to the weights. If `trainable` is False, the network may be
    one that only scores (see scoring_networks.py).
    """
    base = _base(folder, facts)
    if base is None:
        make = partial(CrossEncoder.empty, folder, outputs, trainable=trainable)
        whole: CrossEncoder = restore_network(make, tensors, folder)
        return whole
    network = base.network(outputs, seed=0, trainable=trainable)
    with reading_saved(folder):
        attach_stored(network, _settings(facts), tensors, folder)
    if merged:
        merge(network)
    return network


def _settings(facts: Facts) -> LowRank:
    return LowRank(**facts["low_rank"])


def _base(folder: Path, facts: Facts) -> Start | None:
    """Return the base of a scorer's updates, None without updates; refuse other weights or another configuration."""
    if "base" not in facts:
        return None
    with reading_saved(folder):
        wanted = {name: str(facts["base"][name]) for name in ("name", "version", "weights", "config")}
    base = _find_base(wanted, folder)
    seen = {"weights": base.fingerprint}  # compared first: an encoder of another kind may lack the rest
    if seen["weights"] == wanted["weights"] and not (folder / CONFIG).is_file():
        seen["config"] = file_fingerprint(base.files / CONFIG)
    for part, value in seen.items():
        if value != wanted[part]:
            raise _other_base(base.name, part, value, wanted, folder)
    return base


def _find_base(wanted: Mapping[str, str], folder: Path) -> Start:
    name, own, packaged = wanted["name"], folder / BASE, packaged_name(folder)
    if packaged == READY_LARGE and name not in PACKAGED:
        return _find_hub_base(wanted)
    try:
        return Start.of(own if own.is_dir() else name, download=False)
    except InputError as error:
        if packaged and name == SMOLLM2:  # the error says how to install it
            raise
        if packaged:
            raise MissingDependencyError(f"the scorer {packaged!r}", name, packaged) from error
        raise InputError(
            f"the encoder {name!r}, which the scorer was trained from, is missing: {error.what}",
            hint=f"install it, or copy it to {own}",
            where=str(folder),
        ) from error


def _find_hub_base(wanted: Mapping[str, str]) -> Start:
    """Return the encoder with the weights of the training, or else another version of it on this machine."""
    repository = wanted["name"]
    versions = [Start(repository, path) for path in find_hub_encoder(repository)]
    if not versions:
        raise InputError(
            f"the scorer {READY_LARGE!r} needs the encoder {repository}, which is not on this machine",
            hint=f"run: hf download {repository}, or set {MODELS} to the folder that contains its folder",
        )
    for version_found in versions:
        if version_found.fingerprint == wanted["weights"]:
            return version_found
    return versions[0]


def _other_base(found: str, part: str, seen: str, wanted: Mapping[str, str], folder: Path) -> InputError:
    name, known = wanted["name"], wanted["version"]
    packaged = packaged_name(folder)
    if packaged == READY:
        hint = f"run: pip install 'interloq[{READY}]', which installs {name} {known}"
    elif packaged and name == SMOLLM2:
        hint = f"delete {model_folder(name)}: it is made again from the package {PACKAGE}"
    elif packaged:
        hint = f"download it again, with model.safetensors as first published: hf download {name}"
    else:
        copied = f"copy the encoder it was trained from to {folder / BASE}"
        hint = f"run: pip install '{name}=={known}'" if known else copied
    return InputError(
        f"the scorer's updates do not fit {f'{found} {_version(found)}'.strip()}: the hash of its {part} is {seen}, "
        f"and they were trained on {f'{name} {known}'.strip()} with {wanted[part]}",
        hint=hint,
        where=str(folder),
    )


def _version(name: str) -> str:
    """Return the version of an installed package; empty for a folder or a name on the hub."""
    with suppress(PackageNotFoundError, ValueError):
        return version(name)
    return ""

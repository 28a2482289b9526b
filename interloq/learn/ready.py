# SPDX-License-Identifier: Apache-2.0
"""The scorers that come with this package: where their weights are, and where their encoders may be.

There is a relevance scorer and a judge of each name. `ready` belongs to a small encoder that an extra installs.
`ready-large` belongs to all-mpnet-base-v2 (109M weights), which users get from the Hugging Face hub: it is looked for
in $INTERLOQ_MODELS and in the local copy of the hub. The judge `ready-both` joins `ready-large` with a judge on
`smollm2`. Only weights with the same hash as in training are used. This module does not import torch.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from interloq.errors import InputError

READY = "ready"  # also the extra that installs its encoder
READY_LARGE = "ready-large"
READY_BOTH = "ready-both"
_SCORERS = Path(str(files("interloq"))) / "scorers"
# name → folder of the weights
PACKAGED = {name: _SCORERS / "relevance" / name for name in (READY, READY_LARGE)}
JUDGES = {name: _SCORERS / "judge" / name for name in (READY, READY_LARGE, READY_BOTH)}
EXTRAS = {READY: READY, READY_BOTH: "smollm2"}  # name → extra that installs what it needs; others need `encoder`
LANGUAGE = "English"  # the only one that they know
HUB_ENCODER = "sentence-transformers/all-mpnet-base-v2"  # of `ready-large`
MODELS = "INTERLOQ_MODELS"  # environment variable: a folder of models, each in a folder of its name


def ready_folder(name: str = READY, packaged: Mapping[str, Path] = PACKAGED) -> Path:
    """Return the folder of a packaged scorer's weights."""
    folder = packaged[name]
    if not (folder / "model.json").is_file():
        kind = "judge" if packaged is JUDGES else "relevance"
        raise InputError(
            f"this copy of interloq comes without the weights of {kind}(model={name!r})",
            hint=f"install a released version, or train a scorer: interloq train {kind}",
            where=str(folder),
        )
    return folder


def scorer_folder(name: str | Path) -> Path:
    """Return the folder of a relevance scorer. `ready` is a packaged one; write `./ready` for a folder of this name."""
    if str(name) in PACKAGED:
        return ready_folder(str(name))
    return Path(name)


def judge_folder(name: str | Path) -> Path:
    """Return the folder of a judge; names of packaged ones as in `scorer_folder`."""
    if str(name) in JUDGES:
        return ready_folder(str(name), JUDGES)
    return Path(name)


def language_of(name: str | Path) -> str:
    """Return the only language that a packaged scorer knows; empty for scorers trained on the user's logs."""
    if str(name) in PACKAGED or str(name) in JUDGES:
        return LANGUAGE
    return ""


def packaged_name(folder: Path) -> str:
    """Return the name of the packaged scorer that a folder belongs to; empty for other folders."""
    for name, packaged in (*PACKAGED.items(), *JUDGES.items()):
        if folder.resolve().is_relative_to(packaged.resolve()):
            return name
    return ""


def hub_cache() -> Path:
    """Return the folder with local copies of models of the Hugging Face hub."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")


def find_hub_encoder(repository: str) -> list[Path]:
    """Return the folders on this machine that may hold an encoder of the hub, the user's own first."""
    snapshots = hub_cache() / f"models--{repository.replace('/', '--')}" / "snapshots"
    folders = sorted(path.parent for path in snapshots.glob("*/model.safetensors"))
    if models := os.environ.get(MODELS):
        folders.insert(0, Path(models) / repository.rpartition("/")[2])
    return [folder for folder in folders if folder.is_dir()]

# SPDX-License-Identifier: Apache-2.0
"""The scorers that come with this package: where their weights are, and where their encoders may be.

There is a relevance scorer and a judge of each name, and a contradiction scorer `ready`. `ready` belongs to a small
encoder that an extra installs.
`ready-large` belongs to all-mpnet-base-v2 (109M weights), which users get from the Hugging Face hub: it is looked for
in $INTERLOQ_MODELS and in the local copy of the hub. The judge `ready-both` joins `ready-large` with a judge on
`smollm2`. Only weights with the same hash as in training are used. This module does not import torch.
"""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from interloq.errors import InputError, find_nearest

READY = "ready"  # also the extra that installs its encoder
READY_LARGE = "ready-large"
READY_BOTH = "ready-both"
_SCORERS = Path(str(files("interloq"))) / "scorers"
# name → folder of the weights
PACKAGED = {name: _SCORERS / "relevance" / name for name in (READY, READY_LARGE)}
JUDGES = {name: _SCORERS / "judge" / name for name in (READY, READY_LARGE, READY_BOTH)}
CONTRADICTION = {READY: _SCORERS / "contradiction" / READY}
BY_KIND = {"relevance": PACKAGED, "judge": JUDGES, "contradiction": CONTRADICTION}
EXTRAS = {READY: READY, READY_BOTH: "smollm2"}  # name → extra that installs what it needs; others need `encoder`
LANGUAGE = "English"  # the only one that they know
HUB_ENCODER = "sentence-transformers/all-mpnet-base-v2"  # of `ready-large`
MODELS = "INTERLOQ_MODELS"  # environment variable: a folder of models, each in a folder of its name


def ready_folder(name: str = READY, kind: str = "relevance") -> Path:
    """Return the folder of a packaged scorer's weights."""
    folder = BY_KIND[kind][name]
    if not (folder / "model.json").is_file():
        trained_by = "recipes/contradiction.py" if kind == "contradiction" else f"interloq train {kind}"
        raise InputError(
            f"this copy of interloq comes without the weights of {kind}(model={name!r})",
            hint=f"install a released version, or train a scorer: {trained_by}",
            where=str(folder),
        )
    return folder


def scorer_folder(name: str | Path, kind: str = "relevance") -> Path:
    """Return the folder of a scorer. `ready` is a packaged one; write `./ready` for a folder of this name."""
    if str(name) in BY_KIND.get(kind, {}):
        return ready_folder(str(name), kind)
    return Path(name)


def judge_folder(name: str | Path) -> Path:
    """Return the folder of a judge; names of packaged ones as in `scorer_folder`."""
    return scorer_folder(name, "judge")


def suggest_packaged(name: str | Path, kind: str) -> str:
    """Return a hint that names the packaged scorer of this kind with a similar name; empty if there is none."""
    close = find_nearest(str(name), BY_KIND.get(kind, {}))
    return f"; did you mean {close!r}, which comes with this package?" if close else ""


def language_of(name: str | Path) -> str:
    """Return the only language that a packaged scorer knows; empty for scorers trained on the user's logs."""
    if str(name) in PACKAGED or str(name) in JUDGES:
        return LANGUAGE
    return ""


def packaged_name(folder: Path) -> str:
    """Return the name of the packaged scorer that a folder belongs to; empty for other folders."""
    for packaged in BY_KIND.values():
        for name, place in packaged.items():
            if folder.resolve().is_relative_to(place.resolve()):
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

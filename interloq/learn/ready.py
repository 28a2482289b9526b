# SPDX-License-Identifier: Apache-2.0
"""The scorer `ready`, which comes with this package, and where its weights are. This module does not import torch."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from interloq.errors import InputError

READY = "ready"  # also the extra that installs the encoder its weights belong to
READY_FOLDER = Path(str(files("interloq"))) / "scorers" / "relevance" / READY


def ready_folder() -> Path:
    """Return the folder of the scorer's weights."""
    if not (READY_FOLDER / "model.json").is_file():
        raise InputError(
            "this copy of interloq comes without ready weights",
            hint="install a released version, or train a scorer: interloq train relevance",
            where=str(READY_FOLDER),
        )
    return READY_FOLDER


def scorer_folder(name: str | Path) -> Path:
    """Return the folder of a trained scorer. `ready` is the packaged one; write `./ready` for a folder of this name."""
    if str(name) == READY:
        return ready_folder()
    return Path(name)


def language_of(name: str | Path) -> str:
    """Return the only language that `ready` knows; empty for other scorers, which were trained on the user's logs."""
    if str(name) == READY:
        return "English"
    return ""


def is_ready(folder: Path) -> bool:
    """Return whether a folder is the scorer that comes with this package."""
    return folder.resolve() == READY_FOLDER.resolve()

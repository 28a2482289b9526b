# SPDX-License-Identifier: Apache-2.0
"""The scorer that comes with this package, named `ready`: where its weights are. Asking needs no torch."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from interloq.errors import InputError

READY = "ready"  # also the extra that installs the encoder its weights belong to
READY_FOLDER = Path(str(files("interloq"))) / "scorers" / "relevance" / READY


def ready_folder() -> Path:
    """The folder of the scorer's weights."""
    if not (READY_FOLDER / "model.json").is_file():
        raise InputError(
            "this copy of interloq comes without ready weights",
            hint="install a released version, or train a scorer: interloq train relevance",
            where=str(READY_FOLDER),
        )
    return READY_FOLDER


def scorer_folder(name: str | Path) -> Path:
    """The folder of a trained scorer. The name `ready` is never a folder of the user's; that is written `./ready`."""
    return ready_folder() if str(name) == READY else Path(name)


def language_of(name: str | Path) -> str:
    """The only language that a scorer knows: that of `ready`; empty for others, whose logs are the user's."""
    return "English" if str(name) == READY else ""


def is_ready(folder: Path) -> bool:
    """Whether a folder is that of the scorer that comes with this package."""
    return folder.resolve() == READY_FOLDER.resolve()

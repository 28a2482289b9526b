# SPDX-License-Identifier: Apache-2.0
"""Partner sets that contain everything their partners need, such as `en-v1`, which come with this package.

Such a set is a folder: `partners.json`, openings, scripts, logs, weights, dialogues and scores of reference systems. In
its specs, `set:NAME` is a file or folder of the set. The hash of the set covers these files, not the versions of
libraries, so it is the same on every machine; a partner that other versions may change is noted.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from interloq.data.files.folders import inside
from interloq.errors import InputError, ReadWarning, count
from interloq.play.bot import Bot

SET = "set:"
MANIFEST, DIALOGUES, SCORES = "partners.json", "dialogues.jsonl.zst", "scores.jsonl.zst"
PACKAGED = Path(str(files("interloq"))) / "play" / "partner_sets"
B = TypeVar("B", bound=Bot)


def packaged_sets() -> list[str]:
    """Return the names of the sets that come with this package."""
    return sorted(path.parent.name for path in PACKAGED.glob(f"*/{MANIFEST}"))


def locate_set(name: str | Path) -> Path:
    """Return the file of a partner set, which may be named by its folder, or by its name if it is a packaged one."""
    if str(name) in packaged_sets():
        return PACKAGED / str(name) / MANIFEST
    path = Path(name)
    return path / MANIFEST if path.is_dir() else path


def locate(place: str, folder: Path) -> str:
    """Return the path of `set:NAME`, which must be inside the set's folder; other texts are returned as they are."""
    if not place.startswith(SET):
        return place
    return str(inside(folder, *place.removeprefix(SET).split("/")))


def place_bot(bot: B, folder: Path) -> B:
    """Return the bot with the paths of the files in the set."""
    placed = {}
    for field in fields(bot):  # type: ignore[arg-type]
        value = getattr(bot, field.name)
        if isinstance(value, str) and value.startswith(SET):
            placed[field.name] = locate(value, folder)
    return replace(bot, **placed) if placed else bot  # type: ignore[type-var]


def hash_files(folder: Path, *, published: bool = False) -> dict[str, str]:
    """Return the SHA-256 of each file that the partners need, or of what is `published`, by its path in the folder."""
    hashes = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name != MANIFEST and (name in (DIALOGUES, SCORES)) == published:
            hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return hashes


def check_files(folder: Path, hashes: Mapping[str, str]) -> None:
    """Refuse a set of which a file is missing or changed."""
    for name, expected in hashes.items():
        path = inside(folder, *name.split("/"))
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != expected:
            what = "was changed" if path.is_file() else "is missing"
            hint = "install the package or copy the folder again: scores on a changed set cannot be compared"
            raise InputError(f"the file {name!r} of the partner set {what}", hint=hint, where=str(folder))


def warn_of_changes(changed: Mapping[str, tuple[str, str]], where: str) -> None:
    """Warn of partners whose signature is not the stored one (name → stored, current): libraries may differ."""
    for name, (stored, current) in changed.items():
        others = f" (and {count(len(changed) - 1, 'other partner')})" if len(changed) > 1 else ""
        what = f"{where}: partner {name!r}{others} has another signature than published: {stored}, now {current}"
        warnings.warn(f"{what}; replies may differ slightly", ReadWarning, stacklevel=3)
        return

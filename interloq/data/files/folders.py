# SPDX-License-Identifier: Apache-2.0
"""Content of folders: stray files are ignored, and paths must stay inside the folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

from interloq.errors import InputError

STRAYS = {".ds_store", "thumbs.db", "desktop.ini", ".directory", ".localized"}  # created by file browsers in any folder
PART = re.compile(r"\.(.+)\.[0-9a-f]{12}\.part")  # names of unfinished output, see `durable.py`
COPY = "only files inside the folder are used; create the folder again"


def is_stray(name: str) -> bool:
    """Return whether a name is one of the files that file browsers and network disks create in any folder."""
    return name.lower() in STRAYS or name.startswith(("._", ".nfs"))


def contents(folder: Path) -> list[Path]:
    """Return the paths in a folder, sorted, without stray files and parts; empty if the folder does not exist."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if not (is_stray(path.name) or PART.fullmatch(path.name)))


def find_matching(folder: Path, pattern: str) -> list[Path]:
    """Return the files that match a pattern, sorted, without stray files such as `._model.safetensors`."""
    return sorted(path for path in folder.glob(pattern) if not is_stray(path.name))


def is_free(folder: Path, *allowed: str) -> bool:
    """Return whether a folder does not exist or is empty, except for empty files or folders with the allowed names."""
    if not folder.is_dir():
        return not os.path.lexists(folder)
    for path in contents(folder):
        if path.name not in allowed or path.is_symlink():
            return False
        if path.is_dir() and not is_free(path):
            return False
        if path.is_file() and path.stat().st_size:
            return False
    return True


def inside(folder: Path, *names: str) -> Path:
    """Return `folder/names…` for names read from a file: plain names only, and no link may lead outside."""
    for name in names:
        if not isinstance(name, str) or name in ("", ".", "..") or re.search(r"[/\\\0]", name):
            raise InputError(f"{name!r} is not the name of a file in the folder", hint=COPY, where=str(folder))
    path = folder.joinpath(*names)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise _leads_outside(path, folder)
    return path


def check_confined(folder: Path) -> None:
    """Refuse a folder with a link that leads outside, before anything in it is read, written or removed."""
    root = folder.resolve()
    for place, folders, files in os.walk(root):
        for path in (Path(place, name) for name in (*folders, *files)):
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                raise _leads_outside(folder / path.relative_to(root), folder)


def _leads_outside(path: Path, folder: Path) -> InputError:
    return InputError(f"{path} is a link that leads outside {folder}", hint=COPY)

"""What is in a folder: strays that count as nothing, whether it is free, and paths that stay inside it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from interloq.errors import InputError

STRAYS = {".ds_store", "thumbs.db", "desktop.ini", ".directory", ".localized"}  # put anywhere by file browsers
PART = re.compile(r"\.(.+)\.[0-9a-f]{12}\.part")  # what `durable.py` calls what is being written
COPY = "nothing outside the folder is touched; make the folder again"


def is_stray(name: str) -> bool:
    """Whether file browsers and network disks put a file with such a name into any folder."""
    return name.lower() in STRAYS or name.startswith(("._", ".nfs"))


def contents(folder: Path) -> list[Path]:
    """What is in a folder in order of name, without strays and parts; nothing where there is no folder."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if not (is_stray(path.name) or PART.fullmatch(path.name)))


def matching(folder: Path, pattern: str) -> list[Path]:
    """The files of a pattern in order of name, without the strays (`._model.safetensors`) that look like them."""
    return sorted(path for path in folder.glob(pattern) if not is_stray(path.name))


def is_free(folder: Path, *own: str) -> bool:
    """Whether a folder is absent or holds nothing; nothing is also an empty file or folder with one of these names."""
    if not folder.is_dir():
        return not os.path.lexists(folder)
    return all(path.name in own and not path.is_symlink() and _is_empty(path) for path in contents(folder))


def _is_empty(path: Path) -> bool:
    return is_free(path) if path.is_dir() else path.stat().st_size == 0


# ---- inside a folder -------------------------------------------------------------------------------------------------


def inside(folder: Path, *names: str) -> Path:
    """`folder/names…` where each name is a plain one and no link leads elsewhere: for names that come from a file."""
    for name in names:
        if not isinstance(name, str) or name in ("", ".", "..") or re.search(r"[/\\\0]", name):
            raise InputError(f"{name!r} is not the name of a file in the folder", hint=COPY, where=str(folder))
    path = folder.joinpath(*names)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise _leads_outside(path, folder)
    return path


def confined(folder: Path) -> None:
    """Refuse a folder of ours in which a link leads outside, before anything in it is read, written or removed."""
    root = folder.resolve()
    for place, folders, files in os.walk(root):
        for path in (Path(place, name) for name in (*folders, *files)):
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                raise _leads_outside(folder / path.relative_to(root), folder)


def _leads_outside(path: Path, folder: Path) -> InputError:
    return InputError(f"{path} is a link to a place outside {folder}", hint=COPY)

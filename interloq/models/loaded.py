"""Networks that metrics and raters ask: imported when first asked, kept for all that name the same one."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from interloq.errors import MissingDependencyError

FEW = 4  # networks held at a time


def loaded(asked_by: str, target: str, name: str, *, extra: str = "encoder", **options: Any) -> Any:
    """`make(name, **options)` with a target `module:make`; anew once the folder behind the name was written again.

    Where torch or transformers are not installed, the message names who asked and the extra that brings them.
    """
    module, _, made = target.partition(":")
    try:
        make = attrgetter(made)(importlib.import_module(module))
    except ImportError as error:
        raise MissingDependencyError(asked_by, error.name or "torch", extra) from error
    folder = Path(name)
    place = str(folder.resolve()) if folder.is_dir() else name
    return _kept(make, place, _written(folder), tuple(sorted(options.items())))


@lru_cache(maxsize=FEW)
def _kept(make: Callable[..., Any], name: str, written: int, options: tuple[tuple[str, Any], ...]) -> Any:  # noqa: ARG001
    """The time of writing is part of the key."""
    return make(name, **dict(options))


def _written(folder: Path) -> int:
    """When a file of the folder was last written; 0 where the name is not a folder."""
    if not folder.is_dir():
        return 0
    return max((path.stat().st_mtime_ns for path in folder.iterdir() if path.is_file()), default=0)

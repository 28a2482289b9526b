# SPDX-License-Identifier: Apache-2.0
"""Networks used by metrics and raters: imported on first use, and shared by all that use the same one."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from interloq.errors import MissingDependencyError

FEW = 4  # networks kept in memory


def load_model(asked_by: str, target: str, name: str, *, extra: str = "encoder", **options: Any) -> Any:
    """Return the cached result of `make(name, **options)` for a target `module:make`.

    It is made again if its folder has changed. If torch or transformers is not installed, the error names `asked_by`
    and the extra that installs them.
    """
    module, _, made = target.partition(":")
    try:
        make = attrgetter(made)(importlib.import_module(module))
    except ImportError as error:
        raise MissingDependencyError(asked_by, error.name or "torch", extra) from error
    folder = Path(name)
    if folder.is_dir():
        name = str(folder.resolve())
    return _load_cached(make, name, last_written(folder), tuple(sorted(options.items())))


@lru_cache(maxsize=FEW)
def _load_cached(make: Callable[..., Any], name: str, written: int, options: tuple[tuple[str, Any], ...]) -> Any:  # noqa: ARG001
    """Make the result; `written` is only part of the cache key."""
    return make(name, **dict(options))


def last_written(folder: Path) -> int:
    """Return when a file in the folder was last written, in nanoseconds; 0 if it is not a folder."""
    if not folder.is_dir():
        return 0
    return max((path.stat().st_mtime_ns for path in folder.iterdir() if path.is_file()), default=0)

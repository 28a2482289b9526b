"""Files outside given folders cannot be written, and no program started or host reached, while a verb runs."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGING = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")
FORBIDDEN = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect", "socket.bind")
_allowed: tuple[str, ...] = ()  # none: nothing is forbidden


class ForbiddenError(Exception):
    """A verb did what no file may make it do."""


@contextlib.contextmanager
def confine(*folders: Path) -> Iterator[None]:
    """Raise a ForbiddenError where this process writes outside the folders, starts a program or connects to a host."""
    global _allowed
    _install()
    _allowed = tuple(os.path.realpath(folder) for folder in folders)
    try:
        yield
    finally:
        _allowed = ()


def _install() -> None:
    """Install the hook once: Python cannot remove it."""
    if not getattr(sys, "_interloq_fuzz_hook", False):
        sys.addaudithook(_audit)
        sys._interloq_fuzz_hook = True  # type: ignore[attr-defined]


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _allowed:
        return
    if event in FORBIDDEN:
        raise ForbiddenError(f"{event} {arguments[:2]!r}"[:300])
    writes = event == "open" and arguments[2] is not None and arguments[2] & WRITING
    if writes or event in CHANGING or event == "sqlite3.connect":
        _check(event, arguments[0])
    if event in ("os.rename", "os.link", "os.symlink"):
        _check(event, arguments[1])


def _check(event: str, path: object) -> None:
    if isinstance(path, int) or path is None:  # an open file
        return
    text = os.fsdecode(path)  # type: ignore[arg-type]
    if text.startswith("file:") or text == ":memory:":
        return
    real = os.path.realpath(text)
    if real != os.devnull and "__pycache__" not in real and not real.startswith(_allowed):
        raise ForbiddenError(f"{event} outside the folder: {real!r}"[:300])

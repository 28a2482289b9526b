"""Small files of tests."""

from __future__ import annotations

from pathlib import Path


def put(path: Path, content: str | bytes) -> Path:
    """Write a file, in a new folder if need be, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path

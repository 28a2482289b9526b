"""The files of a build: packed pieces that join without unpacking, files that appear whole or not at all, a lock."""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from interloq.errors import InputError

SUFFIXES = {"zst": ".jsonl.zst", "gz": ".jsonl.gz", "none": ".jsonl"}


def pack(data: bytes, compression: str) -> bytes:
    """One compressed piece; several behind each other are a whole compressed file."""
    if compression == "zst":
        import zstandard

        return zstandard.ZstdCompressor(level=3).compress(data)
    return gzip.compress(data, mtime=0) if compression == "gz" else data


def put(path: Path, data: bytes) -> None:
    """Write a small file that is there whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_bytes(data)
    part.replace(path)


def put_json(path: Path, value: Any) -> None:
    put(path, orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")


def assemble(path: Path, first: bytes, pieces: Sequence[Path]) -> None:
    """A file from its first bytes and the content of others, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        file.write(first)
        for piece in pieces:
            with piece.open("rb") as source:
                shutil.copyfileobj(source, file, 2**20)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Only one build at a time in a folder; the lock of a killed one is gone with it."""
    try:
        import fcntl
    except ImportError:  # no such locks on Windows
        yield
        return
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            where = str(path.parent.parent)
            raise InputError("another build is running in this folder", cure="wait for it", where=where) from None
        yield

# SPDX-License-Identifier: Apache-2.0
"""The output files of a build: compressed pieces that are concatenated without decompression."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Sequence
from pathlib import Path

from interloq.data.files.durable import atomic_file

SUFFIXES = {"zst": ".jsonl.zst", "gz": ".jsonl.gz", "none": ".jsonl"}


def pack(data: bytes, compression: str) -> bytes:
    """Return one compressed piece; several concatenated pieces are a valid compressed file."""
    if compression == "zst":
        import zstandard

        return zstandard.ZstdCompressor(level=3).compress(data)
    if compression == "gz":
        return gzip.compress(data, mtime=0)
    return data


def assemble(path: Path, first: bytes, pieces: Sequence[Path]) -> None:
    """Write a file atomically from its first bytes and the content of other files."""
    with atomic_file(path) as file:
        file.write(first)
        for piece in pieces:
            with piece.open("rb") as source:
                shutil.copyfileobj(source, file, 2**20)

"""Small files that expand to a quarter of a gigabyte, given to everything that reads a file whole."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zstandard

from interloq.cli.play import make_bots
from interloq.compare.comparison_file import read_comparison
from interloq.data.follow_ups import read_follow_ups
from interloq.data.sets.registry import read_dataset
from interloq.errors import InterloqError
from interloq.metrics.contextual.bertscore_baseline import load_baseline
from interloq.play.openings import read_openings
from interloq.play.partners import load_partners
from interloq.rank.rank_file import read_system_scores
from interloq.vectors.word_vectors import WordVectors

SIZE = 2**28
READERS: dict[str, Callable[[Path], Any]] = {
    "partners.json": load_partners,
    "bots.json": lambda path: make_bots([], str(path), "bot"),
    "bots.toml": lambda path: make_bots([], str(path), "bot"),
    "follow_ups.json": read_follow_ups,
    "baseline.json": load_baseline,
    "comparison.json": read_comparison,
    "scores.json": read_system_scores,
    "scores.csv": read_system_scores,
    "openings.txt": read_openings,
    "openings.jsonl": read_openings,
    "vectors.txt": WordVectors.load,
    "vectors.bin": WordVectors.load,
    "predictive_engagement.csv": lambda path: list(read_dataset("predictive_engagement", path)),
}


def read_bombs(folder: str) -> int:
    """How many were refused; anything else is an error."""
    refused = 0
    for suffix, data in {".gz": _gzip(b"0 "), ".zst": _zstd(b"0 ")}.items():
        for name, read in READERS.items():
            path = Path(folder) / f"{name}{suffix}"
            path.write_bytes(data)
            refused += _refused(read, path)
    path = Path(folder) / "fed.tar.gz"
    path.write_bytes(_archive())
    return refused + _refused(lambda given: list(read_dataset("fed", given)), path)


def _refused(read: Callable[[Path], Any], path: Path) -> bool:
    try:
        read(path)
    except InterloqError:
        return True
    raise AssertionError(f"{path.name} was read")


def _gzip(unit: bytes) -> bytes:
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=1) as file:
        for _ in range(SIZE // 2**20):
            file.write(unit * (2**20 // len(unit)))
    return stream.getvalue()


def _zstd(unit: bytes) -> bytes:
    packer = zstandard.ZstdCompressor().compressobj()
    parts = [packer.compress(unit * (2**20 // len(unit))) for _ in range(SIZE // 2**20)]
    return b"".join([*parts, packer.flush()])


def _archive() -> bytes:
    """One member that claims a terabyte, in a header that is followed by zeros."""
    info = tarfile.TarInfo("fed/fed_data.json")
    info.size = 2**40
    return gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(2**20))

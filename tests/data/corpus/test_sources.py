"""Sources of a corpus."""

from __future__ import annotations

import tracemalloc
from functools import partial
from pathlib import Path

import pytest

from interloq.data.corpus.sources import open_logs


def test_what_a_few_packed_bytes_stand_for_is_never_held_whole(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "a.jsonl.zst"
    with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as writer:
        for _ in range(400):
            writer.write(b"x" * 2**20)
    tracemalloc.start()
    read = sum(len(data) for source in open_logs([path]) for data in iter(partial(source.stream.read, 2**20), b""))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert read == 400 * 2**20
    assert peak < 150 * 2**20

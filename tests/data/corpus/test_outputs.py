"""Outputs of a build."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard

from interloq import InputError
from interloq.data.corpus.outputs import SUFFIXES, assemble, pack
from interloq.data.files.opening import lines


@pytest.mark.parametrize("compression", SUFFIXES)
def test_packed_pieces_make_one_file(tmp_path: Path, compression: str) -> None:
    pieces = [tmp_path / "1", tmp_path / "2", tmp_path / "3"]
    for piece, content in zip(pieces, (b"b\n", b"", b"c\nd\n"), strict=True):
        piece.write_bytes(pack(content, compression))
    path = tmp_path / f"all{SUFFIXES[compression]}"
    assemble(path, pack(b"a\n", compression), pieces)
    assert [line.strip() for _, line in lines(path)] == [b"a", b"b", b"c", b"d"]


def test_packing_does_not_depend_on_the_time() -> None:
    assert pack(b"a", "gz") == pack(b"a", "gz")
    assert gzip.decompress(pack(b"a" * 99, "gz")) == zstandard.decompress(pack(b"a" * 99, "zst")) == b"a" * 99


def test_a_file_is_whole_or_absent(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent"):
        assemble(tmp_path / "all", b"a\n", [tmp_path / "absent"])
    assert list(tmp_path.iterdir()) == []

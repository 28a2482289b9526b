"""Compressed files."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest
import zstandard

from interloq import InputError, Sample, load, write

GOOD = b'{"id": "good", "context": ["hi"], "response": "hey", "references": ["hello"]}'


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
def test_compression_by_suffix(tmp_path: Path, samples: list[Sample], suffix: str) -> None:
    path = tmp_path / f"samples.jsonl{suffix}"
    write(path, samples, kind="samples")
    first = path.read_bytes()
    assert load(path) == samples
    write(path, samples, kind="samples")
    assert path.read_bytes() == first, "the same records must give the same bytes"


def test_files_of_other_programs_are_decompressed(tmp_path: Path) -> None:
    for suffix, compress in ((".gz", gzip.compress), (".xz", lzma.compress), (".zst", zstandard.compress)):
        path = tmp_path / f"a.jsonl{suffix}"
        path.write_bytes(compress(GOOD + b"\n"))
        assert [sample.id for sample in load(path)] == ["good"]


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_a_cut_off_compressed_file_is_named(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    write(path, [Sample(str(i), "c", f"reply {i * 7919}") for i in range(2000)], kind="samples")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match=r"damaged or truncated|no usable") as caught:
        load(path)
    assert str(path) in str(caught.value)

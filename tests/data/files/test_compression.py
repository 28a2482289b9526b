"""Compressed files."""

from __future__ import annotations

import contextlib
import gzip
import lzma
from pathlib import Path

import pytest
import zstandard

from interloq import InputError, Sample, load, write
from interloq.data.files import compression
from interloq.data.files import opening as files

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


@pytest.mark.parametrize("suffix", [".xz", ".zst"])
@pytest.mark.parametrize("block", [b"x", b"\n"])
def test_a_file_that_expands_without_bound_is_refused_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, block: bytes
) -> None:
    """It is not decompressed to its end, also if only its first line is wanted."""
    monkeypatch.setattr(compression, "FREE", 2**21)
    path = tmp_path / f"a.jsonl{suffix}"
    packed = lzma.compress if suffix == ".xz" else zstandard.compress
    path.write_bytes(packed(block * 2**23))
    with pytest.raises(InputError, match=r"bytes expand to more than 2,\d+,\d+, as no file of records does") as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert "decompress it first" in str(caught.value)


def test_equal_records_may_be_compressed_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "FREE", 2**16)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(GOOD.replace(b"good", b"%d" % i) + b"\n" for i in range(5000))))
    assert len(load(path)) == 5000


def test_the_rest_of_a_long_line_is_read_only_for_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 2**10)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x" * 2**20 + b"\n" + GOOD + b"\n")
    found = files.lines(path)
    with path.open("rb") as file:
        monkeypatch.setattr(files, "decompress_records", lambda *_: contextlib.nullcontext(file))
        assert next(found) == (1, b"x" * (2**10 + 1))
        assert file.tell() < 2**12
        assert next(found) == (2, GOOD)
        assert list(found) == []

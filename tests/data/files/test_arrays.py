"""Arrays in files: mapped or read whole, and refused if damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interloq import InputError
from interloq.data.files.arrays import map_array, small_arrays


def test_a_mapped_array_is_the_saved_one(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6, dtype=np.int32).reshape(3, 2))
    found = map_array(tmp_path / "a.npy", np.int32, dimensions=2, rows=3, hint="")
    assert found.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert not found.flags.writeable


@pytest.mark.parametrize(("dtype", "dimensions", "rows"), [("int64", 1, 3), ("int32", 2, 3), ("int32", 1, 4)])
def test_another_type_shape_or_length_is_refused(tmp_path: Path, dtype: str, dimensions: int, rows: int) -> None:
    np.save(tmp_path / "a.npy", np.arange(3, dtype=np.int32))
    with pytest.raises(InputError, match=r"damaged.*; make it again"):
        map_array(tmp_path / "a.npy", dtype, dimensions=dimensions, rows=rows, hint="make it again")


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16, b"text"])
def test_what_is_not_an_array_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(InputError, match="missing or damaged"):
        map_array(tmp_path / "a.npy", np.int32, hint="")


def test_pickles_are_not_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object))
    with pytest.raises(InputError, match="missing or damaged"):
        map_array(tmp_path / "a.npy", np.int32, hint="")


def test_small_arrays_are_read_within_a_limit(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", a=np.arange(3), b=np.zeros(1000))
    first, second = small_arrays(tmp_path / "a.npz", "b", "a", limit=10_000, hint="")
    assert (len(first), second.tolist()) == (1000, [0, 1, 2])
    with pytest.raises(InputError, match="at most 100"):
        small_arrays(tmp_path / "a.npz", "a", limit=100, hint="")
    with pytest.raises(InputError, match="missing or damaged"):
        small_arrays(tmp_path / "a.npz", "c", limit=10_000, hint="")

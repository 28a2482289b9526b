"""Errors of the file system in one line."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.files.appended import Appended
from interloq.data.files.durable import atomic_file, atomic_folder, write_atomically
from interloq.data.files.opening import replacing
from tests.limits import no_larger_than


def test_a_full_disk_is_named_in_one_line(tmp_path: Path) -> None:
    write_atomically(tmp_path / "out.jsonl", b"before")
    with no_larger_than(1000):
        for name in ("out.jsonl", "out.jsonl.gz", "out.jsonl.zst"):
            full = pytest.raises(InputError, match=r"cannot write .*out.*: File too large; write to a disk")
            with full, replacing(tmp_path / name) as file:
                file.write(os.urandom(100_000))
        with pytest.raises(InputError, match="cannot write"), atomic_folder(tmp_path / "folder") as part:
            (part / "x").write_bytes(bytes(100_000))
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    assert (tmp_path / "out.jsonl").read_bytes() == b"before"
    with pytest.raises(InputError, match="cannot write /dev/full: No space left on device; free some space"):
        write_atomically("/dev/full", b"x")


@pytest.mark.parametrize("place", ["file/out", "file/deep/out", "/proc/version/out", "/proc/none/out"])
def test_places_where_nothing_can_be_written(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    for write in (atomic_file, atomic_folder):
        with pytest.raises(InputError, match="cannot write"), write(tmp_path / place):
            pass
    with pytest.raises(InputError, match="cannot write"):
        Appended(tmp_path / place)


def test_errors_of_networks_and_of_other_files_pass(tmp_path: Path) -> None:
    for error in (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), BrokenPipeError(errno.EPIPE, "gone")):
        with pytest.raises(type(error)), atomic_file(tmp_path / "out"):
            raise error


def test_the_name_of_a_part_is_not_shown(tmp_path: Path) -> None:
    full = pytest.raises(InputError, match=rf"cannot write {tmp_path}/folder/x: File too large")
    with no_larger_than(1000), full, atomic_folder(tmp_path / "folder") as part:
        write_atomically(part / "x", bytes(100_000))

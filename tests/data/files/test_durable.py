"""Whole files and folders, locks, appends, leftovers, strays, and paths that stay inside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from interloq import InputError
from interloq.data.files import durable, folders
from interloq.data.files.durable import atomic_folder, hold_lock, lock, write_atomically

WRITER = """
import os, signal, sys
from interloq.data.files.durable import atomic_file, atomic_folder
make = atomic_folder if sys.argv[2] == "folder" else atomic_file
with make(sys.argv[1]) as part:
    print("writing", flush=True)
    if sys.argv[3] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.read()
"""


@contextmanager
def writer(path: Path, kind: str, how: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", WRITER, str(path), kind, how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        yield process


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_the_next_writer_removes_what_a_kill_left(tmp_path: Path, kind: str) -> None:
    with writer(tmp_path / "out", kind, "die") as process:
        assert process.wait() == -signal.SIGKILL
    mine = tmp_path / ".out.mine.part"
    mine.write_text("not made by a writer")
    (tmp_path / ".other.0123456789ab.part").write_text("of another target")
    assert len([path for path in tmp_path.iterdir() if folders.PART.fullmatch(path.name)]) == 2
    write_atomically(tmp_path / "out", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"out", mine.name, ".other.0123456789ab.part"}


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_living_process_writes_is_left_alone(tmp_path: Path, kind: str) -> None:
    with writer(tmp_path / "out", kind, "wait") as process:
        (part,) = tmp_path.iterdir()
        write_atomically(tmp_path / "out", b"first")
        assert part.exists()
        (tmp_path / "out").unlink()
        process.communicate("")
    assert process.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    def fail(part: Path) -> None:
        part.write_text("half")
        raise ValueError("half-way")

    write_atomically(tmp_path / "out", b"before")
    with pytest.raises(ValueError, match="half-way"), durable.atomic_path(tmp_path / "out") as part:
        fail(part)
    with pytest.raises(ValueError, match="half-way"), atomic_folder(tmp_path / "folder") as part:
        fail(part / "x")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_bytes() == b"before"


def test_a_device_is_not_replaced() -> None:
    write_atomically("/dev/null", b"x")
    assert not Path("/dev/null").is_file()


def test_a_whole_folder_takes_the_place_of_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".DS_Store").write_text("kept")
    with atomic_folder(tmp_path / "out") as part:
        (part / "x").write_text("x")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [".DS_Store", "x"]
    with pytest.raises(InputError, match="cannot write"), atomic_folder(tmp_path / "out"):
        pass
    assert (tmp_path / "out" / "x").exists(), "one that holds something stays"


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no /dev/shm on this system")  # noqa: S108
def test_a_folder_below_dev_holds_ordinary_files() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "new" / "out"
        write_atomically(path, b"before")
        with durable.atomic_file(path):
            assert path.read_bytes() == b"before", "it is replaced only when it is complete"
        assert path.read_bytes() == b""


def test_standard_output_is_written_directly_even_if_it_is_a_file(tmp_path: Path) -> None:
    program = "from interloq.data.files.durable import write_atomically; write_atomically('/dev/stdout', b'x')"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", program], stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"x"
    assert Path("/dev/stdout").is_symlink()


@pytest.mark.parametrize("name", [".", "..", "/"])
def test_an_output_needs_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="cannot write"), atomic_folder(name):
        pass
    with pytest.raises(InputError, match="directory"):
        write_atomically(name, b"x")


def test_a_lock_on_a_file_that_was_removed_meanwhile_is_not_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    locks: list[IO[Any]] = []

    def lock_after_removal(file: IO[Any], where: Path) -> None:
        if not locks:
            path.unlink()  # as its last owner does, between our opening and locking it
        lock(file, where)
        locks.append(file)

    monkeypatch.setattr(durable, "lock", lock_after_removal)
    with hold_lock(path):
        assert len(locks) == 2
        with pytest.raises(InputError, match="another process"), hold_lock(path):
            pass


def test_a_part_that_another_process_removes_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open = os.open
    removed: list[Path] = []

    def open_removed(path: Path, flags: int, *more: int) -> int:
        if not removed:
            removed.append(path)
            path.rmdir()
        return real_open(path, flags, *more)

    monkeypatch.setattr(os, "open", open_removed)
    with atomic_folder(tmp_path / "folder") as part:
        monkeypatch.undo()
        (part / "file").write_text("here")
    assert (tmp_path / "folder" / "file").read_text() == "here"
    assert len(removed) == 1

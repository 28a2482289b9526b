"""Whole files and folders, locks, appends, leftovers, strays, and paths that stay inside."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from interloq import InputError
from interloq.data import durable, folders
from interloq.data.appended import Appended
from interloq.data.durable import locked, whole_file, whole_folder, write_whole
from interloq.data.files import replacing
from interloq.data.folders import contents, inside, is_free
from tests.limits import no_larger_than

WRITER = """
import os, signal, sys
from interloq.data.durable import whole_file, whole_folder
make = whole_folder if sys.argv[2] == "folder" else whole_file
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
    write_whole(tmp_path / "out", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"out", mine.name, ".other.0123456789ab.part"}


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_living_process_writes_is_left_alone(tmp_path: Path, kind: str) -> None:
    with writer(tmp_path / "out", kind, "wait") as process:
        (part,) = tmp_path.iterdir()
        write_whole(tmp_path / "out", b"first")
        assert part.exists()
        (tmp_path / "out").unlink()
        process.communicate("")
    assert process.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    def fail(part: Path) -> None:
        part.write_text("half")
        raise ValueError("half-way")

    write_whole(tmp_path / "out", b"before")
    with pytest.raises(ValueError, match="half-way"), durable.whole_file_by_name(tmp_path / "out") as part:
        fail(part)
    with pytest.raises(ValueError, match="half-way"), whole_folder(tmp_path / "folder") as part:
        fail(part / "x")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_bytes() == b"before"


def test_a_full_disk_is_named_in_one_line(tmp_path: Path) -> None:
    write_whole(tmp_path / "out.jsonl", b"before")
    with no_larger_than(1000):
        for name in ("out.jsonl", "out.jsonl.gz", "out.jsonl.zst"):
            full = pytest.raises(InputError, match=r"cannot write .*out.*: File too large; write to a disk")
            with full, replacing(tmp_path / name) as file:
                file.write(os.urandom(100_000))
        with pytest.raises(InputError, match="cannot write"), whole_folder(tmp_path / "folder") as part:
            (part / "x").write_bytes(bytes(100_000))
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    assert (tmp_path / "out.jsonl").read_bytes() == b"before"
    with pytest.raises(InputError, match="cannot write /dev/full: No space left on device; free some space"):
        write_whole("/dev/full", b"x")


@pytest.mark.parametrize("place", ["file/out", "file/deep/out", "/proc/version/out", "/proc/none/out"])
def test_places_where_nothing_can_be_written(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    for write in (whole_file, whole_folder):
        with pytest.raises(InputError, match="cannot write"), write(tmp_path / place):
            pass
    with pytest.raises(InputError, match="cannot write"):
        Appended(tmp_path / place)


def test_errors_of_networks_and_of_other_files_pass(tmp_path: Path) -> None:
    for error in (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), BrokenPipeError(errno.EPIPE, "gone")):
        with pytest.raises(type(error)), whole_file(tmp_path / "out"):
            raise error


def test_a_device_is_not_replaced() -> None:
    write_whole("/dev/null", b"x")
    assert not Path("/dev/null").is_file()


def test_a_whole_folder_takes_the_place_of_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".DS_Store").write_text("kept")
    with whole_folder(tmp_path / "out") as part:
        (part / "x").write_text("x")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [".DS_Store", "x"]
    with pytest.raises(InputError, match="cannot write"), whole_folder(tmp_path / "out"):
        pass
    assert (tmp_path / "out" / "x").exists(), "one that holds something stays"


def test_what_counts_as_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert is_free(folder)
    (folder / "segments").mkdir(parents=True)
    assert not is_free(folder)
    assert is_free(folder, "segments")
    for name in (".DS_Store", "._index", "Thumbs.db", "Desktop.ini", ".index.json.0123456789ab.part"):
        (folder / name).write_text("stray")
    assert is_free(folder, "segments")
    assert contents(folder) == [folder / "segments"]
    (folder / "segments" / "x").write_text("of worth")
    assert not is_free(folder, "segments")
    (tmp_path / "file").write_text("")
    assert not is_free(tmp_path / "file")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert not is_free(tmp_path / "link")


@pytest.mark.parametrize("name", ["..", ".", "", "../x", "/etc/passwd", "a/b", "a\\b", "a\0b", 7])
def test_names_from_a_file_stay_inside(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="is not the name of a file"):
        inside(tmp_path, "segments", name)


def test_links_inside_a_folder_lead_nowhere_else(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    (folder / "own").mkdir(parents=True)
    (outside / "x").mkdir(parents=True)
    (folder / "link").symlink_to(outside)
    (folder / "near").symlink_to(folder / "own")
    assert inside(folder, "own", "x") == folder / "own" / "x"
    assert inside(folder, "near") == folder / "near"
    for names in (["link"], ["link", "x"], ["link", "absent"]):
        with pytest.raises(InputError, match="a place outside"):
            inside(folder, *names)
    durable.remove(folder / "link")
    assert (outside / "x").exists()


def test_two_writers_are_one_too_many(tmp_path: Path) -> None:
    busy = pytest.raises(InputError, match="another process is writing here")
    with locked(tmp_path / "lock"), busy, locked(tmp_path / "lock"):
        pass
    with locked(tmp_path / "lock"):
        pass
    first = Appended(tmp_path / "log")
    with pytest.raises(InputError, match="another process is writing here"):
        Appended(tmp_path / "log")
    first.close()


def test_an_append_that_was_cut_resumes_after_its_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\nthr")
    log = Appended(path)
    assert list(log.lines()) == [(0, b"one\n"), (4, b"two\n")]
    assert log.add(b"three\n") == 8
    assert log.line(4) == b"two\n"
    log.close()
    assert path.read_bytes() == b"one\ntwo\nthree\n"


def test_an_append_that_fails_leaves_whole_lines(tmp_path: Path) -> None:
    log = Appended(tmp_path / "log")
    log.add(b"one\n")
    with no_larger_than(1000), pytest.raises(InputError, match="cannot write"):
        log.add(b"x" * 100_000 + b"\n")
    log.close()
    assert (tmp_path / "log").read_bytes() == b"one\n"


def test_a_file_of_somebody_else_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "notes").write_bytes(b"a line without an end")
    with pytest.raises(InputError, match="not a file that Interloq began"):
        list(Appended(tmp_path / "notes").lines())
    assert (tmp_path / "notes").read_bytes() == b"a line without an end"
    (tmp_path / "ours").write_bytes(b'{"kind":"dial')
    with closing(Appended(tmp_path / "ours")) as ours:
        assert list(ours.lines()) == []
    assert (tmp_path / "ours").read_bytes() == b""


def test_the_name_of_a_part_is_not_shown(tmp_path: Path) -> None:
    full = pytest.raises(InputError, match=rf"cannot write {tmp_path}/folder/x: File too large")
    with no_larger_than(1000), full, whole_folder(tmp_path / "folder") as part:
        write_whole(part / "x", bytes(100_000))

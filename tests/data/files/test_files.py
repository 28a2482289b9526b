"""The modules of `interloq.data.files`: appended, archives, arrays, cache, folders, opening, overwriting, write
errors.
"""

from __future__ import annotations

import errno
import gzip
import io
import lzma
import os
import stat
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from interloq import InputError
from interloq.data.files import archives, durable
from interloq.data.files.appended import Appended
from interloq.data.files.archives import read_files
from interloq.data.files.arrays import map_array, small_arrays
from interloq.data.files.cache import BlobCache, cache_folder
from interloq.data.files.durable import atomic_file, atomic_folder, hold_lock, write_atomically
from interloq.data.files.folders import contents, inside, is_free
from interloq.data.files.opening import read_json, read_small, reading_saved, replacing, write_text
from interloq.data.files.overwriting import refuse_overwriting
from interloq.errors import short_repr
from interloq.rank.rank_file import read_system_scores
from tests.limits import no_larger_than
from tests.made_files import put


def test_two_writers_are_one_too_many(tmp_path: Path) -> None:
    busy = pytest.raises(InputError, match="another process is writing here")
    with hold_lock(tmp_path / "lock"), busy, hold_lock(tmp_path / "lock"):
        pass
    with hold_lock(tmp_path / "lock"):
        pass
    first = Appended(tmp_path / "log")
    with pytest.raises(InputError, match="another process is writing here"):
        Appended(tmp_path / "log")
    first.close()


def test_an_append_that_was_cut_resumes_after_its_last_whole_line(tmp_path: Path) -> None:
    path = put(tmp_path / "log", b"one\ntwo\nthr")
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
    with pytest.raises(InputError, match="not an unfinished file of Interloq"):
        list(Appended(tmp_path / "notes").lines())
    assert (tmp_path / "notes").read_bytes() == b"a line without an end"
    (tmp_path / "ours").write_bytes(b'{"kind":"dial')
    with closing(Appended(tmp_path / "ours")) as ours:
        assert list(ours.lines()) == []
    assert (tmp_path / "ours").read_bytes() == b""


def test_a_file_is_resumed_by_the_same_run_only(tmp_path: Path) -> None:
    with closing(Appended(tmp_path / "log")) as log:
        assert list(log.resume("tries", {"seed": 1})) == []
        place = log.add(b"one\n")
        assert list(log.resume("tries", {"seed": 1})) == [(place, b"one\n")]
        for kind, seed, what in (("tries", 2, "seed was 1, is 2"), ("talks", 1, "not a record of talks")):
            with pytest.raises(InputError, match=what):
                list(log.resume(kind, {"seed": seed}))


def archive(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as made:
        for info, data in members:
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return path


def member(name: str, type: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = type, target
    return info


def test_links_and_paths_that_lead_out_of_an_archive_lead_nowhere(tmp_path: Path) -> None:
    secret = put(tmp_path / "fed_data.json", '["secret"]')
    path = archive(
        tmp_path / "fed.tar.gz",
        (member("x/fed_data.json", tarfile.SYMTYPE, str(secret)), b""),
        (member("y/fed_data.json", tarfile.LNKTYPE, "../../fed_data.json"), b""),
        (member("../../fed_data.json"), b"[]"),
    )
    (found,) = read_files(path, ["fed_data.json"])
    assert found.data == b"[]"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["fed.tar.gz", "fed_data.json"]


def test_an_archive_is_bounded_by_size_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "a.tar.gz", *((member(f"{i}.txt"), b"x" * 1000) for i in range(9)))
    monkeypatch.setattr(archives, "MAX_MEMBERS", 8)
    with pytest.raises(InputError, match="the archive has more than 8 files"):
        read_files(path, ["*.txt"])
    monkeypatch.setattr(archives, "MAX_MEMBERS", 9)
    monkeypatch.setattr(archives, "MAX_DATASET", 5000)
    with pytest.raises(InputError, match="the dataset has more than"):
        read_files(path, ["*.txt"])
    monkeypatch.setattr(archives, "MAX_FILE", 999)
    with pytest.raises(InputError, match=r"0\.txt has more than|a header claims"):
        read_files(path, ["*.txt"])


def test_a_header_that_claims_gigabytes_is_refused(tmp_path: Path) -> None:
    info = member("long name", tarfile.GNUTYPE_LONGNAME)
    info.size = 2**33
    path = put(tmp_path / "a.tar.gz", gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(2**20)))
    with pytest.raises(InputError, match="a header claims 8,589,9"):
        read_files(path, ["*.txt"])


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


def test_values_are_found_by_key_and_replaced(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path / "deep" / "answers.db", "answer")
    keys = [i.to_bytes(4, "big") for i in range(1_200)]  # more than fit in one query
    assert cache.get(keys) == {}
    cache.put([(key, key * 2) for key in keys[:1_100]])
    cache.put([(keys[0], b"new")])
    found = BlobCache(cache.path, "answer").get(keys)
    assert found == {key: key * 2 for key in keys[1:1_100]} | {keys[0]: b"new"}
    assert BlobCache(cache.path, "vector").get(keys) == {}


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path / "answers.db", "answer")
    cache.put([(b"k", b"a prompt")])
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600


def test_a_file_that_is_not_a_database(tmp_path: Path) -> None:
    path = put(tmp_path / "answers.db", "no database at all, but text" * 99)
    with pytest.raises(InputError, match=r"answers\.db: the answer cache cannot be used: .*; delete it"):
        BlobCache(path, "answer").get([b"k"])


def test_the_folder_is_the_users_cache_unless_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("INTERLOQ_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "interloq"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "interloq"
    monkeypatch.setenv("INTERLOQ_CACHE", "here")
    assert cache_folder() == Path("here")
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    assert cache_folder() is None


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
        with pytest.raises(InputError, match="leads outside"):
            inside(folder, *names)
    durable.remove(folder / "link")
    assert (outside / "x").exists()


PACKED: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}


def test_a_file_that_expands_without_end_is_refused(tmp_path: Path) -> None:
    for suffix, pack in PACKED.items():
        path = put(tmp_path / f"scores.json{suffix}", pack(b"[" * 2_000_000))
        with pytest.raises(InputError, match="has more than 1 MiB"):
            read_small(path, limit=2**20)
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(InputError, match="damaged or truncated"):
            read_small(path)


def test_deep_nesting_is_an_error_like_any_other(tmp_path: Path) -> None:
    path = put(tmp_path / "scores.json", '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}")
    for read in (read_system_scores, read_json):
        with pytest.raises(InputError, match="not valid JSON"):
            read(path)
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    assert len(short_repr(deep)) <= 60
    assert short_repr("x" * 1000).startswith("'xxx")


def test_texts_are_written_whatever_they_contain(tmp_path: Path) -> None:
    write_text(tmp_path / "text.md", "naïve \ud800")
    assert (tmp_path / "text.md").read_text(encoding="utf-8") == "naïve ?"


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (KeyError("sizes"), "^folder: the saved files are damaged: 'sizes' is missing; copy"),
        (RuntimeError("first\nsecond"), "^folder: the saved files are damaged: first second; copy"),
        (InputError("as it is"), "^as it is$"),
    ],
)
def test_what_saved_files_lack_is_said_in_one_line(error: Exception, what: str) -> None:
    with pytest.raises(InputError, match=what), reading_saved("folder"):
        raise error


@pytest.fixture
def path(folder: Path) -> Path:
    (folder / "a.jsonl").write_text("{}\n")
    return folder / "a.jsonl"


@pytest.mark.parametrize("name", ["a.jsonl", "./a.jsonl", "b/../a.jsonl", "linked.jsonl", "hard.jsonl"])
def test_other_spellings_and_links_are_the_same_file(folder: Path, path: Path, name: str) -> None:
    (folder / "b").mkdir()
    (folder / "linked.jsonl").symlink_to(path)
    (folder / "hard.jsonl").hardlink_to(path)
    with pytest.raises(InputError, match="is also an input"):
        refuse_overwriting([name], [path])


def test_files_written_on_the_way_and_equal_outputs_are_refused_and_pipes_pass(path: Path, folder: Path) -> None:
    with pytest.raises(InputError, match="while writing"):
        refuse_overwriting(["x"], ["x.part"])
    with pytest.raises(InputError, match="bad lines"):
        refuse_overwriting(["x.jsonl"], ["x.jsonl.rejected.jsonl"])
    with pytest.raises(InputError, match="two outputs"):
        refuse_overwriting(["new.jsonl", "./new.jsonl"], [])
    refuse_overwriting(["-", "new.jsonl"], ["-", path, "absent.jsonl", "a\0b"])


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

"""Appends that resume after the last whole line."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.files.appended import Appended
from interloq.data.files.durable import locked
from tests.limits import no_larger_than


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

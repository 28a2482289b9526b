"""Which folders a training job may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.learn.claim import JOB, LOCK, WORK, claim, clear_work


def is_done(folder: Path, job: str, *, started: bool = False) -> bool:
    with claim(folder, job, started=lambda _: started) as done:
        return done


def test_a_job_that_has_not_begun_is_nobodys(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert not is_done(folder, "one")
    (folder / ".DS_Store").write_text("stray")
    (folder / WORK / "tokens").write_text("of little worth")
    assert not is_done(folder, "two")
    assert {path.name for path in (folder / WORK).iterdir()} == {JOB, LOCK}
    assert not is_done(folder, "two", started=True)
    with pytest.raises(InputError, match="contains a job with other settings"):
        is_done(folder, "three", started=True)


@pytest.mark.parametrize("second", ["one", "two"])
@pytest.mark.parametrize("started", [False, True])
def test_a_folder_is_refused_while_a_job_runs_in_it(tmp_path: Path, second: str, started: bool) -> None:
    folder = tmp_path / "out"
    with claim(folder, "one", started=lambda _: False):
        (folder / WORK / "tokens").write_text("of little worth")
        with pytest.raises(InputError, match="another process"):
            is_done(folder, second, started=started)
        assert (folder / WORK / "tokens").exists()
    assert not is_done(folder, "two")


def test_a_finished_folder_is_only_read(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "model.json").write_text('{"job": "one"}')
    assert is_done(folder, "one")
    with pytest.raises(InputError, match="contains a job with other settings"):
        is_done(folder, "two")
    assert [path.name for path in folder.iterdir()] == ["model.json"]
    (folder / WORK).mkdir()  # killed before it was removed
    assert is_done(folder, "one")
    assert not (folder / WORK).exists()


@pytest.mark.parametrize("name", ["mine.txt", f"{WORK}/mine.txt", f"{WORK}/{LOCK}"])
def test_a_folder_with_something_else_is_refused_and_kept(tmp_path: Path, name: str) -> None:
    mine = tmp_path / "out" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("precious")
    with pytest.raises(InputError, match="contains other files"):
        is_done(tmp_path / "out", "one")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [mine]
    assert mine.read_text() == "precious"


def test_a_damaged_job_is_named(tmp_path: Path) -> None:
    is_done(tmp_path / "out", "one")
    (tmp_path / "out" / WORK / JOB).write_text("{")
    with pytest.raises(InputError, match=JOB):
        is_done(tmp_path / "out", "one", started=True)


def test_nothing_behind_a_link_is_touched(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / JOB).write_text('{"job": "one"}')
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / WORK).symlink_to(outside)
    for touch in (lambda: is_done(tmp_path / "out", "two"), lambda: clear_work(tmp_path / "out")):
        with pytest.raises(InputError, match="is a link that leads outside"):
            touch()
    assert [path.name for path in outside.iterdir()] == [JOB]

"""Which folders a training job may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.learn.claim import JOB, WORK, claim, clear_work


def test_a_job_that_has_not_begun_is_nobodys(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert not claim(folder, "one", started=False)
    (folder / ".DS_Store").write_text("stray")
    (folder / WORK / "tokens").write_text("of little worth")
    assert not claim(folder, "two", started=False)
    assert [path.name for path in (folder / WORK).iterdir()] == [JOB]
    assert not claim(folder, "two", started=True)
    with pytest.raises(InputError, match="contains a job with other settings"):
        claim(folder, "three", started=True)


@pytest.mark.parametrize("name", ["mine.txt", f"{WORK}/mine.txt"])
def test_a_folder_with_something_else_is_refused_and_kept(tmp_path: Path, name: str) -> None:
    mine = tmp_path / "out" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("precious")
    with pytest.raises(InputError, match="contains other files"):
        claim(tmp_path / "out", "one", started=False)
    assert mine.read_text() == "precious"


def test_a_damaged_job_is_named(tmp_path: Path) -> None:
    claim(tmp_path / "out", "one", started=False)
    (tmp_path / "out" / WORK / JOB).write_text("{")
    with pytest.raises(InputError, match=JOB):
        claim(tmp_path / "out", "one", started=True)


def test_nothing_behind_a_link_is_touched(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / JOB).write_text('{"job": "one"}')
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / WORK).symlink_to(outside)
    for touch in (lambda: claim(tmp_path / "out", "two", started=False), lambda: clear_work(tmp_path / "out")):
        with pytest.raises(InputError, match="is a link that leads outside"):
            touch()
    assert (outside / JOB).exists()

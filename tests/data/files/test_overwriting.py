"""An output that is also an input is refused, whatever it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.files.overwriting import refuse_overwriting


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


def test_files_written_on_the_way_count(path: Path) -> None:
    with pytest.raises(InputError, match="while writing"):
        refuse_overwriting(["x"], ["x.part"])
    with pytest.raises(InputError, match="bad lines"):
        refuse_overwriting(["x.jsonl"], ["x.jsonl.rejected.jsonl"])


def test_two_outputs_differ(folder: Path) -> None:
    with pytest.raises(InputError, match="two outputs"):
        refuse_overwriting(["new.jsonl", "./new.jsonl"], [])


def test_pipes_and_new_files_pass(path: Path) -> None:
    refuse_overwriting(["-", "new.jsonl"], ["-", path, "absent.jsonl", "a\0b"])

"""Pairs of a segment by their number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interloq import InputError
from interloq.records import Pair
from interloq.retrieve.folder.folder_log import ENDS, PAIRS, FolderLog, write_log

MADE = [Pair("1", "hi", "hello"), Pair("2", "猫?", "\U0001f408\n", "1", "t", "2020-01-01T00:00:00Z"), Pair("", "", "")]


def test_every_pair_comes_back(tmp_path: Path) -> None:
    write_log(tmp_path, MADE)
    log = FolderLog(tmp_path, 3)
    assert [log[i] for i in (2, 0, 1)] == [MADE[2], MADE[0], MADE[1]]
    assert len(log) == 3


def test_no_pairs_are_a_log_too(tmp_path: Path) -> None:
    write_log(tmp_path, [])
    assert len(FolderLog(tmp_path, 0)) == 0


@pytest.mark.parametrize("place", [-1, 3])
def test_a_number_out_of_range_is_damage(tmp_path: Path, place: int) -> None:
    write_log(tmp_path, MADE)
    with pytest.raises(InputError, match="damaged"):
        FolderLog(tmp_path, 3)[place]


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    write_log(tmp_path, MADE)
    whole, ends = (tmp_path / PAIRS).read_bytes(), np.load(tmp_path / ENDS)
    with pytest.raises(InputError, match="damaged"):
        FolderLog(tmp_path, 4)
    (tmp_path / PAIRS).write_bytes(whole[:-1])
    with pytest.raises(InputError, match="damaged"):
        FolderLog(tmp_path, 3)
    (tmp_path / PAIRS).write_bytes(whole.replace(b'"hello"', b"[12345]"))
    with pytest.raises(InputError, match="not six texts"):
        FolderLog(tmp_path, 3)[0]
    np.save(tmp_path / ENDS, np.array([0, ends[-1] + 5, 2, ends[-1]]))
    with pytest.raises(InputError, match="damaged"):
        FolderLog(tmp_path, 3)[0]

"""The manifest of an index."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from interloq import InputError
from interloq.records import Pair
from interloq.retrieve.folder.folder_files import ENDS, MANIFEST, PAIRS, FolderLog, write_log
from tests.retrieve.made_index import use


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "index"))


def changed(folder: Path, **values: object) -> None:
    path = folder / MANIFEST
    kept = {**json.loads(path.read_text()), **values}
    path.write_text(json.dumps({name: value for name, value in kept.items() if value != "absent"}))


SEGMENT = {"name": "000000", "pairs": 120}
WRONG: list[tuple[str, object]] = [
    ("schema", "absent"),
    ("schema", 99),
    ("kind", "corpus"),
    ("retriever", "absent"),
    ("retriever", 7),
    ("built_with", None),
    ("segments", "absent"),
    ("segments", {"name": "000000"}),
    ("segments", ["000000"]),
    ("segments", [{"name": "000000"}]),
    ("segments", [{**SEGMENT, "pairs": -1}]),
    ("segments", [{**SEGMENT, "pairs": 2**60}]),
    ("segments", [{**SEGMENT, "pairs": "many"}]),
    ("segments", [{**SEGMENT, "name": "../../000000"}]),
    ("segments", [{**SEGMENT, "name": "/etc"}]),
    ("segments", [{**SEGMENT, "name": 7}]),
    ("segments", [SEGMENT, SEGMENT]),
    ("segments", [{**SEGMENT, "pairs": 119}]),
    ("segments", [{**SEGMENT, "name": "000077"}]),
    ("sources", ["a"]),
    ("sources", {"a": -3}),
    ("n_probe", 0),
    ("n_probe", 1.5),
    ("exact_up_to", -1),
    ("recall", "high"),
    ("wanted_recall", 3),
    ("extra", 1),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=[f"{name}-{i}" for i, (name, _) in enumerate(WRONG)])
def test_a_wrong_manifest_is_named(folder: Path, name: str, value: object) -> None:
    changed(folder, **{name: value})
    with pytest.raises(InputError, match=str(folder)):
        use(folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'"index"', b"\xff\xfe", b"{}"])
def test_a_manifest_that_is_none(folder: Path, content: bytes) -> None:
    (folder / MANIFEST).write_bytes(content)
    with pytest.raises(InputError, match=r"is damaged.*interloq index build"):
        use(folder)


MADE = [Pair("1", "hi", "hello"), Pair("2", "猫?", "\U0001f408\n", "1", "t", "2020-01-01T00:00:00Z"), Pair("", "", "")]


def test_every_pair_comes_back_and_no_pairs_are_a_log_too(tmp_path: Path) -> None:
    write_log(tmp_path, MADE)
    log = FolderLog(tmp_path, 3)
    assert [log[i] for i in (2, 0, 1)] == [MADE[2], MADE[0], MADE[1]]
    assert len(log) == 3
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

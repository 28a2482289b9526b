"""Indexes that were cut off, tampered with or linked elsewhere: a project error, and nothing outside is touched."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from interloq import InputError
from interloq.retrieve.folder.folder_files import MANIFEST
from interloq.retrieve.index import create_index, open_index
from tests.limits import no_larger_than
from tests.retrieve.made_index import pairs, use


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "index"))


def test_every_file_that_is_cut_off_or_absent_or_of_another_kind_is_named(whole: Path, tmp_path: Path) -> None:
    files = [path.relative_to(whole) for path in whole.rglob("*") if path.suffix in (".npy", ".bin", ".npz", ".faiss")]
    assert len(files) >= 6
    for name in files:
        size = (whole / name).stat().st_size
        for damage in (b"", b"junk", (whole / name).read_bytes()[: size // 2], (whole / name).read_bytes()[:-1], None):
            folder = tmp_path / "index"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(whole, folder)
            (folder / name).unlink() if damage is None else (folder / name).write_bytes(damage)
            if damage is None and name.name.startswith("impacts"):
                use(folder)  # made again where it is absent
                continue
            with pytest.raises(InputError, match=r"damaged.*interloq index build"):
                use(folder)


def _save(path: Path, change: Callable[[np.ndarray], object]) -> None:
    np.save(path, np.asarray(change(np.load(path))))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("starts", lambda a: a[::-1]),
        ("starts", lambda a: np.where(np.arange(len(a)) == 2, -(2**62), a)),
        ("starts", lambda a: np.where(np.arange(len(a)) == 2, 2**62, a)),
        ("starts", lambda a: a[:-1]),
        ("starts", lambda a: a.astype(np.int32)),
        ("texts", lambda a: np.full_like(a, 2**32 - 1)),
        ("texts", lambda a: a[:-1]),
        ("texts", lambda a: a[None]),
        ("counts", lambda a: a[:-1]),
        ("counts", lambda a: a.astype(np.float64)),
        ("lengths", lambda a: -a),
        ("lengths", lambda a: a[:-1]),
        ("terms", lambda a: a[:-1]),
    ],
)
def test_arrays_that_do_not_belong_together(tmp_path: Path, name: str, change: Callable[..., object]) -> None:
    create_index(tmp_path / "index", "bm25").add(pairs(50), source="a")
    _save(tmp_path / "index" / "segments" / "000000" / "utterance" / f"{name}.npy", change)
    with pytest.raises(InputError, match=r"damaged.*interloq index build"):
        use(tmp_path / "index")


CODES = ("short", "numbers", "places", "starts")
FLIP = """
import sys
from pathlib import Path
from random import Random
sys.path.insert(0, sys.argv[1])
from interloq import InputError
from tests.retrieve.test_damaged_index import use
path, rng = Path(sys.argv[2]), Random(7)
before = path.read_bytes()
manifest = (Path(sys.argv[3]) / "index.json").read_bytes()
for trial in range(60):
    data, near = bytearray(before), trial % 2
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(min(len(data), 200) if near else len(data))] = rng.randrange(256)
    path.write_bytes(data)
    (Path(sys.argv[3]) / "index.json").write_bytes(manifest)
    try:
        use(Path(sys.argv[3]))
    except InputError:
        pass
print("done")
"""


@pytest.mark.parametrize("whole", ["lists"], indirect=True)
@pytest.mark.parametrize("name", ["utterance.trained.faiss", "segments/000000/utterance/lists.faiss"])
def test_flipped_bytes_never_crash_faiss(folder: Path, name: str) -> None:
    command = [sys.executable, "-c", FLIP, str(Path(__file__).parents[2]), str(folder / name), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-2000:]


@pytest.mark.parametrize("whole", ["codes"], indirect=True)
@pytest.mark.parametrize(
    "name", ["utterance.trained.npz", *(f"segments/000000/utterance/{part}.npy" for part in CODES)]
)
def test_flipped_bytes_never_crash_a_scan(folder: Path, name: str) -> None:
    command = [sys.executable, "-c", FLIP, str(Path(__file__).parents[2]), str(folder / name), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-2000:]


def test_a_full_disk_leaves_the_index_as_it_was(folder: Path) -> None:
    index, before = open_index(folder), (folder / MANIFEST).read_bytes()
    with no_larger_than(900), pytest.raises(InputError, match=r"cannot write .*segments/.*: File too large"):
        index.add(pairs(100, seed=4), source="b")
    assert (folder / MANIFEST).read_bytes() == before
    assert len(list((folder / "segments").iterdir())) == 2
    use(folder)


def test_nothing_behind_a_link_is_read_or_removed(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    shutil.move(folder / "segments", outside)
    (outside / "precious").mkdir()
    (outside / "000099").mkdir()
    (folder / "segments").symlink_to(outside)
    before = sorted(outside.rglob("*"))
    with pytest.raises(InputError, match="is a link that leads outside"):
        use(folder)
    assert sorted(outside.rglob("*")) == before
    (folder / "segments").unlink()
    shutil.copytree(outside, folder / "segments")
    shutil.rmtree(folder / "segments" / "000001")
    (folder / "segments" / "000001").symlink_to(outside / "000001")
    with pytest.raises(InputError, match="is a link that leads outside"):
        use(folder)
    assert sorted(outside.rglob("*")) == before


def test_strays_and_what_we_did_not_make_stay(folder: Path) -> None:
    kept = [folder / "segments" / name for name in (".DS_Store", "Thumbs.db", "._000000", "notes")] + [folder / "mine"]
    for path in kept:
        path.write_text("not ours")
    for name in ("000077", "000078.part"):
        (folder / "segments" / name).mkdir()
    use(folder)
    assert all(path.exists() for path in kept)
    assert not (folder / "segments" / "000077").exists()
    assert not (folder / "segments" / "000078.part").exists()


def test_a_folder_that_holds_nothing_of_worth_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "index" / "segments").mkdir(parents=True)
    (tmp_path / "index" / "index.lock").write_bytes(b"")
    (tmp_path / "index" / ".DS_Store").write_text("stray")
    first = create_index(tmp_path / "index", "bm25")
    assert create_index(tmp_path / "index", "bm25(k1=2.0)").add(pairs(9), source="a") == 9, (
        "an empty one can be claimed"
    )
    with pytest.raises(InputError, match="another retriever"):
        create_index(tmp_path / "index", "bm25")
    with pytest.raises(InputError, match="another process has started another index here"):
        first.add(pairs(9), source="b")

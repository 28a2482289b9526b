"""Names from manifests stay inside their folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.files import durable
from interloq.data.files.folders import contents, inside, is_free


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

"""The folder of the demo."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.cli.main import main
from interloq.demo.folder import MADE

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("name", ["index", "rater"])
def test_a_folder_of_the_user_stays(folder: Path, name: str, capsys: Captured) -> None:
    precious = folder / "out" / name / "precious.txt"
    precious.parent.mkdir(parents=True)
    precious.write_text("mine")
    assert main(["demo", "-o", "out"]) == 2
    assert f"out/{name} was not made by the demo; choose another folder with -o" in capsys.readouterr().err
    assert precious.read_text() == "mine"


def test_a_link_is_not_followed(folder: Path, capsys: Captured) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "precious.txt").write_text("mine")
    (folder / "out").mkdir()
    (folder / "out" / MADE[0]).write_text("")
    (folder / "out" / "rater").symlink_to(folder / "mine")
    assert main(["demo", "-o", "out"]) == 2
    assert "was not made by the demo" in capsys.readouterr().err
    assert (folder / "mine" / "precious.txt").exists()
